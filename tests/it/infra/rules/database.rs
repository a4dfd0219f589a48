//! The database of our own and its network.

use serde_json::Value;

use super::super::template::{Template, each, short};
use super::permissions::allowed;

pub(super) fn no_way_in_or_out(t: &Template) -> Vec<String> {
    let doors = ["AWS::EC2::InternetGateway", "AWS::EC2::NatGateway", "AWS::EC2::Route", "AWS::EC2::EIP"];
    let mut wrong: Vec<_> = t
        .types()
        .into_iter()
        .filter(|kind| doors.contains(kind))
        .map(|kind| format!("a way to the internet: {kind}"))
        .collect();
    for (name, instance) in t.all("AWS::RDS::DBInstance") {
        if instance["PubliclyAccessible"] != false {
            wrong.push(format!("{name} has a public address"));
        }
    }
    for (name, subnet) in t.all("AWS::EC2::Subnet") {
        if subnet["MapPublicIpOnLaunch"] != false {
            wrong.push(format!("{name} gives public addresses"));
        }
    }
    if t.properties("FlowLog")["TrafficType"] != "REJECT" {
        wrong.push("what the network refuses is not logged".into());
    }
    for (name, group) in t.all("AWS::EC2::SecurityGroup") {
        for ingress in each(&group["SecurityGroupIngress"]) {
            if ingress["SourceSecurityGroupId"].is_null() || ![5432, 443].iter().any(|port| ingress["FromPort"] == *port) {
                wrong.push(format!("{name} lets in {ingress}"));
            }
        }
        if each(&group["SecurityGroupEgress"]).is_empty() {
            wrong.push(format!("{name} lets everything out"));
        }
    }
    wrong
}

pub(super) fn endpoints(t: &Template) -> Vec<String> {
    let endpoints = t.all("AWS::EC2::VPCEndpoint");
    let service = |endpoint: &Value| short(&endpoint["ServiceName"]).replace("com.amazonaws.${AWS::Region}.", "");
    let mut services: Vec<_> = endpoints.iter().map(|(_, endpoint)| service(endpoint)).collect();
    services.sort();
    let mut wrong = Vec::new();
    if services != ["logs", "s3", "secretsmanager", "sqs"] {
        wrong.push(format!("endpoints are {services:?}"));
    }
    for (name, endpoint) in endpoints {
        let gateway = endpoint["VpcEndpointType"] == "Gateway";
        if !gateway && endpoint["PrivateDnsEnabled"] != true {
            wrong.push(format!("{name} is not found under the service's name"));
        }
        for statement in each(&endpoint["PolicyDocument"]["Statement"]) {
            let ours = short(&statement["Condition"]["StringEquals"]["aws:PrincipalAccount"]) == "AWS::AccountId";
            let named = statement["Action"] == "s3:PutObject" && statement["Resource"] != "*";
            if !ours && !named {
                wrong.push(format!("{name} lets strangers through"));
            }
        }
        if endpoint["PolicyDocument"].is_null() {
            wrong.push(format!("{name} has no policy"));
        }
    }
    wrong
}

pub(super) fn kept(t: &Template) -> Vec<String> {
    let mut wrong = Vec::new();
    let cluster = &t.section("Resources")["Cluster"];
    for policy in ["DeletionPolicy", "UpdateReplacePolicy"] {
        if cluster[policy] != "Snapshot" {
            wrong.push(format!("the cluster's {policy} leaves no snapshot"));
        }
    }
    for (property, parameter) in
        [("DeletionProtection", "DeletionProtection"), ("BackupRetentionPeriod", "BackupRetentionDays")]
    {
        if short(&cluster["Properties"][property]) != parameter {
            wrong.push(format!("the cluster's {property} cannot be set"));
        }
    }
    wrong
}

pub(super) fn secret_and_encrypted(t: &Template) -> Vec<String> {
    let mut wrong = Vec::new();
    let cluster = t.properties("Cluster");
    if cluster["StorageEncrypted"] != true {
        wrong.push("the cluster is not encrypted".into());
    }
    if cluster["ManageMasterUserPassword"] != true || !cluster["MasterUserPassword"].is_null() {
        wrong.push("the cluster's password is ours to keep and to rotate".into());
    }
    if t.properties("ClusterParameters")["Parameters"]["rds.force_ssl"] != "1" {
        wrong.push("the cluster takes connections without TLS".into());
    }
    if short(&t.properties("ClusterParameters")["Parameters"]["max_connections"]) != "MaxConnections" {
        wrong.push("the cluster's connections are not those of the size".into());
    }
    if t.properties("Proxy")["RequireTLS"] != true {
        wrong.push("the proxy takes connections without TLS".into());
    }
    let flows = allowed(t.properties("FlowLogRole"));
    if !flows.iter().all(|permission| permission.starts_with("logs:") && permission.ends_with(" FlowLogGroup.Arn")) {
        wrong.push(format!("the flow log may {flows:?}"));
    }
    let proxy = allowed(t.properties("ProxyRole"));
    if proxy != ["secretsmanager:GetSecretValue Cluster.MasterUserSecret.SecretArn"] {
        wrong.push(format!("the proxy may {proxy:?}"));
    }
    wrong
}

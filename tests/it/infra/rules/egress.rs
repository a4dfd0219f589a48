//! The way out to the internet, for who asks for it.

use super::super::template::{Template, short};

pub(super) fn asked_for(t: &Template) -> Vec<String> {
    let mut wrong = Vec::new();
    if t.section("Parameters")["InternetEgress"]["Default"] != "false" {
        wrong.push("a new network has a way out that nobody asked for".into());
    }
    let asked = serde_json::json!({"Fn::And": [
        {"Condition": "NewDatabase"}, {"Fn::Equals": [{"Ref": "InternetEgress"}, "true"]}
    ]});
    if t.section("Resources")["Egress"]["Condition"] != "HasEgress" || t.section("Conditions")["HasEgress"] != asked {
        wrong.push("the way out does not hang on InternetEgress".into());
    }
    for (parameter, output) in [("VpcId", "VpcId"), ("RouteTableId", "RouteTableId"), ("Cidr", "EgressCidr")] {
        if short(&t.properties("Egress")["Parameters"][parameter]) != format!("Database.Outputs.{output}") {
            wrong.push(format!("the way out has another {parameter} than the new network"));
        }
    }
    wrong
}

pub(super) fn out_and_not_in(t: &Template) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut kinds: Vec<_> = t.types().into_iter().map(|kind| kind.trim_start_matches("AWS::EC2::")).collect();
    kinds.sort_unstable();
    if kinds
        != [
            "EIP",
            "InternetGateway",
            "NatGateway",
            "Route",
            "Route",
            "RouteTable",
            "Subnet",
            "SubnetRouteTableAssociation",
            "VPCGatewayAttachment",
        ]
    {
        wrong.push(format!("made are {kinds:?}"));
    }
    let mut routes: Vec<_> = t
        .all("AWS::EC2::Route")
        .iter()
        .map(|(_, route)| {
            let to = if route["NatGatewayId"].is_null() { &route["GatewayId"] } else { &route["NatGatewayId"] };
            format!("{} by {} to {}", short(&route["RouteTableId"]), short(to), short(&route["DestinationCidrBlock"]))
        })
        .collect();
    routes.sort_unstable();
    if routes != ["GatewayRoutes by InternetGateway to 0.0.0.0/0", "RouteTableId by NatGateway to 0.0.0.0/0"] {
        wrong.push(format!("routes are {routes:?}"));
    }
    if short(&t.properties("RoutesOfGatewaySubnet")["RouteTableId"]) != "GatewayRoutes" {
        wrong.push("the gateway's subnet has another's routes".into());
    }
    if t.properties("GatewaySubnet")["MapPublicIpOnLaunch"] != false {
        wrong.push("the gateway's subnet gives public addresses".into());
    }
    wrong
}

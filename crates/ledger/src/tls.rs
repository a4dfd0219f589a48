//! TLS to Postgres. Invariant: unless it is disabled in so many words, a connection is made only to a server that shows a
//! certificate for the host name asked for, issued under one of the roots chosen here and by no other.

use std::sync::{Mutex, PoisonError};

use native_tls::{Certificate, Protocol, TlsConnector};
use postgres_native_tls::{MakeTlsConnector, TlsStream};
use tokio_postgres::Socket;
use tokio_postgres::config::Host;
use tokio_postgres::tls::MakeTlsConnect;

/// Roots of RDS and Aurora: each region has three of its own, under a `# region` line. See `certs/README.md`.
const RDS_ROOTS: &str = include_str!("../certs/rds.pem");

/// Roots of Amazon Trust Services, which RDS Proxy's certificates are issued under.
const AMAZON_TRUST_ROOTS: &str = include_str!("../certs/amazon-trust.pem");

/// What a connector was made for, and the connector.
type Kept = (Option<Vec<u8>>, Vec<Host>, MakeTlsConnector);

/// Made once for a place: a reconnection, after a freeze for instance, must not read the system's roots again.
static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

/// Why nobody can be trusted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CaError {
    #[error("no certificate in PEM form")]
    None,
    #[error("OpenSSL cannot use the certificates")]
    Unusable(#[from] native_tls::Error),
}

/// A connector that is made once the server has taken the connection: a new server process gets ready for us meanwhile.
pub(crate) struct VerifyFull<'a> {
    pub(crate) ca_pem: Option<&'a [u8]>,
    pub(crate) hosts: Vec<Host>,
}

impl MakeTlsConnect<Socket> for VerifyFull<'_> {
    type Stream = TlsStream<Socket>;
    type TlsConnect = postgres_native_tls::TlsConnector;
    type Error = CaError;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Self::TlsConnect, CaError> {
        let mut connector = connector(self.ca_pem, &self.hosts)?;
        Ok(MakeTlsConnect::<Socket>::make_tls_connect(&mut connector, domain)?)
    }
}

fn connector(ca_pem: Option<&[u8]>, hosts: &[Host]) -> Result<MakeTlsConnector, CaError> {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    match &*kept {
        Some((pem, for_hosts, connector)) if pem.as_deref() == ca_pem && for_hosts == hosts => Ok(connector.clone()),
        _ => {
            let connector = new_connector(ca_pem, hosts)?;
            *kept = Some((ca_pem.map(<[u8]>::to_vec), hosts.to_vec(), connector.clone()));
            Ok(connector)
        }
    }
}

/// The system's roots are not trusted: any of some 140 authorities could vouch for the database. native-tls reads them all the
/// same before it leaves them out (140 of the 185 million instructions of a cold start over TLS).
fn new_connector(ca_pem: Option<&[u8]>, hosts: &[Host]) -> Result<MakeTlsConnector, CaError> {
    let roots = match ca_pem {
        Some(pem) => certificates(pem)?,
        None => amazon_roots(hosts)?,
    };
    let mut builder = TlsConnector::builder();
    builder.disable_built_in_roots(true).min_protocol_version(Some(Protocol::Tlsv12));
    for root in roots {
        builder.add_root_certificate(root);
    }
    Ok(MakeTlsConnector::new(builder.build()?))
}

fn certificates(pem: &[u8]) -> Result<Vec<Certificate>, CaError> {
    let roots = Certificate::stack_from_pem(pem)?;
    // Trusting nothing is safe, but the refusal that follows would name the wrong culprit.
    if roots.is_empty() { Err(CaError::None) } else { Ok(roots) }
}

/// Every region's roots take 3 ms to parse, one region's a quarter of one, and a certificate of one region is never right for
/// another. So the host name chooses.
fn amazon_roots(hosts: &[Host]) -> Result<Vec<Certificate>, CaError> {
    let mut roots = certificates(AMAZON_TRUST_ROOTS.as_bytes())?;
    for host in hosts {
        if let Host::Tcp(name) = host
            && let Some(pem) = region(name).and_then(rds_roots)
        {
            roots.extend(certificates(pem.as_bytes())?);
        }
    }
    Ok(roots)
}

/// `eu-west-1` of `name.abc.eu-west-1.rds.amazonaws.com`.
fn region(host: &str) -> Option<&str> {
    let (_, region) = host.strip_suffix(".rds.amazonaws.com")?.rsplit_once('.')?;
    Some(region)
}

fn rds_roots(region: &str) -> Option<&'static str> {
    RDS_ROOTS.split("# ").find_map(|section| section.strip_prefix(region)?.strip_prefix('\n'))
}

#[cfg(test)]
mod tests {
    use openssl::x509::X509;

    use super::*;

    fn regions() -> Vec<&'static str> {
        RDS_ROOTS.split("# ").skip(1).map(|section| section.lines().next().unwrap()).collect()
    }

    #[test]
    fn every_region_has_its_own_three_self_signed_roots() {
        assert_eq!(regions().len(), 27);
        for region in regions() {
            let roots = X509::stack_from_pem(rds_roots(region).unwrap().as_bytes()).unwrap();
            let mut names: Vec<String> = roots.iter().map(common_name).collect();
            names.sort();
            let expected = ["ECC384", "RSA2048", "RSA4096"].map(|key| format!("Amazon RDS {region} Root CA {key} G1"));
            assert_eq!(names, expected);
            assert!(roots.iter().all(is_self_signed));
        }
        let proxy = X509::stack_from_pem(AMAZON_TRUST_ROOTS.as_bytes()).unwrap();
        assert_eq!(proxy.len(), 5);
        assert!(proxy.iter().all(is_self_signed));
    }

    #[test]
    fn the_host_name_chooses_the_roots() {
        let chosen = |host: &str| amazon_roots(&[Host::Tcp(host.into())]).unwrap().len();
        assert_eq!(chosen("db.c1x.eu-west-1.rds.amazonaws.com"), 5 + 3);
        assert_eq!(chosen("db.cluster-ro-c1x.us-east-1.rds.amazonaws.com"), 5 + 3);
        assert_eq!(chosen("proxy.proxy-c1x.us-east-1.rds.amazonaws.com"), 5 + 3);
        assert_eq!(chosen("db.c1x.mars-north-1.rds.amazonaws.com"), 5);
        assert_eq!(chosen("eu-west-1.rds.amazonaws.com.attacker.example"), 5);
        assert_eq!(chosen("localhost"), 5);
    }

    fn common_name(certificate: &X509) -> String {
        let name = certificate.subject_name().entries_by_nid(openssl::nid::Nid::COMMONNAME).next().unwrap();
        name.data().to_string().unwrap()
    }

    fn is_self_signed(certificate: &X509) -> bool {
        certificate.verify(&certificate.public_key().unwrap()).unwrap()
    }
}

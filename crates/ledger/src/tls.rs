//! TLS to Postgres. Invariant: unless it is disabled in so many words, a connection is made only to a server that shows a
//! certificate for the host name asked for, issued under one of the roots chosen here and by no other.

use native_tls::{Certificate, Protocol, TlsConnector};
use postgres_native_tls::MakeTlsConnector;
use tokio_postgres::config::Host;

/// Roots of RDS and Aurora: each region has three of its own, under a `# region` line. See `certs/README.md`.
const RDS_ROOTS: &str = include_str!("../certs/rds.pem");

/// Roots of Amazon Trust Services, which RDS Proxy's certificates are issued under.
const AMAZON_TRUST_ROOTS: &str = include_str!("../certs/amazon-trust.pem");

/// The system's roots are left out: any of some 140 authorities could vouch for the database, and reading them is most of
/// a cold start's TLS time.
pub(crate) fn connector(ca_pem: Option<&[u8]>, hosts: &[Host]) -> Result<MakeTlsConnector, native_tls::Error> {
    let mut builder = TlsConnector::builder();
    builder.disable_built_in_roots(true).min_protocol_version(Some(Protocol::Tlsv12));
    let roots = match ca_pem {
        Some(pem) => Certificate::stack_from_pem(pem)?,
        None => amazon_roots(hosts)?,
    };
    for root in roots {
        builder.add_root_certificate(root);
    }
    Ok(MakeTlsConnector::new(builder.build()?))
}

/// Parsing every region's roots would take longer than the handshake, and a certificate of one region is never right for
/// another, so the host name chooses.
fn amazon_roots(hosts: &[Host]) -> Result<Vec<Certificate>, native_tls::Error> {
    let mut roots = Certificate::stack_from_pem(AMAZON_TRUST_ROOTS.as_bytes())?;
    for host in hosts {
        if let Host::Tcp(name) = host
            && let Some(pem) = region(name).and_then(rds_roots)
        {
            roots.extend(Certificate::stack_from_pem(pem.as_bytes())?);
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

//! A JSON Web Token as far as Plaid uses it (RFC 7519). Invariants: only `ES256` is a signature, whatever else the token's header
//! says, so neither `none` nor a public key used as an HMAC secret is ever one; claims are read, and are worth nothing until
//! the token is proven.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use hookledger_json::{Fields, Malformed, scalar};

#[derive(Deserialize)]
struct Header<'a> {
    alg: &'a str,
    kid: Option<String>,
}

/// What is signed, and the signature; `None` for another algorithm or another form.
pub(crate) fn parts(token: &str) -> Option<(&str, Vec<u8>)> {
    let (signed, signature) = token.rsplit_once('.')?;
    let (_, claims) = signed.split_once('.')?;
    let header = URL_SAFE_NO_PAD.decode(token.split('.').next()?).ok()?;
    let header: Header<'_> = serde_json::from_slice(&header).ok()?;
    let es256 = header.alg == "ES256" && !claims.contains('.');
    if es256 { Some((signed, URL_SAFE_NO_PAD.decode(signature).ok()?)) } else { None }
}

/// The id of the key that a token says it is signed with.
pub(crate) fn key_id(token: &str) -> Option<String> {
    parts(token)?;
    let header = URL_SAFE_NO_PAD.decode(token.split('.').next()?).ok()?;
    serde_json::from_slice::<Header<'_>>(&header).ok()?.kid
}

/// The text of a claim.
pub(crate) fn claim(token: &str, name: &str) -> Result<Option<String>, Malformed> {
    let claims = token.split('.').nth(1).ok_or(Malformed)?;
    let claims = URL_SAFE_NO_PAD.decode(claims).map_err(|_| Malformed)?;
    let mut fields = Fields::default();
    fields.add(&format!("/{name}")).ok_or(Malformed)?;
    let found = fields.find(&claims)?;
    match found.first().copied().flatten() {
        Some(json) => scalar(json).map(|text| text.map(Into::into)),
        None => Ok(None),
    }
}

/// The uncompressed point of a P-256 key in JWK form (RFC 7517).
pub(crate) fn p256_point(x: &str, y: &str) -> Option<Vec<u8>> {
    let (x, y) = (URL_SAFE_NO_PAD.decode(x).ok()?, URL_SAFE_NO_PAD.decode(y).ok()?);
    (x.len() == 32 && y.len() == 32).then(|| [&[4], x.as_slice(), y.as_slice()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(header: &str, claims: &str) -> String {
        format!("{}.{}.AAAA", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims))
    }

    #[test]
    fn only_es256_is_a_signature() {
        let good = token(r#"{"alg":"ES256","kid":"k1","typ":"JWT"}"#, r#"{"iat":7}"#);
        assert_eq!(parts(&good).unwrap().1, [0, 0, 0]);
        assert_eq!(key_id(&good).unwrap(), "k1");
        assert_eq!(claim(&good, "iat").unwrap().unwrap(), "7");
        for alg in ["none", "HS256", "RS256", "es256", ""] {
            assert!(parts(&token(&format!(r#"{{"alg":"{alg}","kid":"k1"}}"#), "{}")).is_none(), "{alg}");
        }
    }

    #[test]
    fn what_is_no_token_is_nothing() {
        for text in ["", ".", "..", "a.b.c", "a.b.c.d", &format!("{}.x", token(r#"{"alg":"ES256"}"#, "{}"))] {
            assert!(parts(text).is_none(), "{text}");
        }
        assert!(claim("a", "iat").is_err());
    }
}

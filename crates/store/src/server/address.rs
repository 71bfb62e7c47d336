//! What a URL says to this program and not to the driver: `?cluster=` and `?pooler=`.

use crate::OpenError;

/// Between the nodes and the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Pooler {
    #[default]
    None,
    /// Each transaction may be on another connection: what a session is told does not last, and nobody can listen.
    Transaction,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Address {
    /// Without these parameters.
    pub(crate) url: String,
    /// The cluster that the node believes to belong to.
    pub(crate) cluster: Option<String>,
    pub(crate) pooler: Pooler,
}

impl Address {
    pub(crate) fn parse(text: &str) -> Result<Address, OpenError> {
        if text.matches('@').count() > 1 {
            // Who reads it otherwise takes the rest of the password for the host, and shows it.
            let hint =
                "it holds more than one `@`: write those of the password as %40 (`/` as %2F, `?` as %3F, `#` as %23)";
            let scheme = text.split("://").next().unwrap_or_default();
            return Err(OpenError::UnknownScheme { url: format!("{scheme}://…"), hint: hint.to_owned() });
        }
        let Some((place, query)) = text.split_once('?') else {
            return Ok(Address { url: text.to_owned(), ..Address::default() });
        };
        let mut address = Address::default();
        let mut others = Vec::new();
        for part in query.split('&') {
            match part.split_once('=') {
                Some(("cluster", name)) => address.cluster = Some(name.to_owned()).filter(|name| !name.is_empty()),
                Some(("pooler", "transaction")) => address.pooler = Pooler::Transaction,
                Some(("pooler", "none" | "session")) => {}
                Some(("pooler", other)) => {
                    let hint = format!("pooler is `{other}`: use none, session or transaction");
                    return Err(OpenError::UnknownScheme { url: crate::without_secrets(text), hint });
                }
                _ => others.push(part),
            }
        }
        address.url = if others.is_empty() { place.to_owned() } else { format!("{place}?{}", others.join("&")) };
        Ok(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_parameters_are_taken_out_of_a_url() {
        let check = |text: &str, url: &str, cluster: Option<&str>, pooler| {
            let expect = Address { url: url.to_owned(), cluster: cluster.map(str::to_owned), pooler };
            assert_eq!(Address::parse(text).expect(text), expect);
        };
        check("postgres://db/x", "postgres://db/x", None, Pooler::None);
        check("postgres://db/x?sslmode=require", "postgres://db/x?sslmode=require", None, Pooler::None);
        check("postgres://db/x?cluster=a", "postgres://db/x", Some("a"), Pooler::None);
        check("postgres://db/x?pooler=transaction&a=b&cluster=", "postgres://db/x?a=b", None, Pooler::Transaction);
        let refused = Address::parse("postgres://me:hunter2@db/x?pooler=statement").expect_err("unknown").to_string();
        assert!(refused.contains("none, session or transaction") && !refused.contains("hunter2"), "{refused}");
        let refused = Address::parse("postgres://me:p@ss/w?rd#%@db/x").expect_err("not encoded").to_string();
        assert!(refused.contains("%40") && !refused.contains("ss/w"), "{refused}");
    }
}

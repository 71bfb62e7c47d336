//! URLs as they may be shown: errors, logs and the explained configuration are pasted into tickets.

/// Without user, password and parameters (they can hold a password too). Where it is not clear what is which, little is
/// shown.
pub fn without_secrets(url: &str) -> String {
    let (scheme, rest) = match url.split_once("://") {
        Some(("sqlite", _)) => return url.to_owned(), // a path may hold any of these signs
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None if url.contains('@') => (String::new(), url),
        None => return url.to_owned(),
    };
    let (place, parameters) = match rest.split_once('?') {
        Some((place, parameters)) => (place, Some(parameters)),
        None => (rest, None),
    };
    let unclear = || format!("{scheme}…");
    if parameters.is_some_and(|parameters| parameters.contains('@')) {
        return unclear();
    }
    let shown = match place.rsplit_once('@') {
        Some((_, place)) => format!("{scheme}…@{place}"),
        None if is_password_there(place) => return unclear(),
        None => format!("{scheme}{place}"),
    };
    if parameters.is_some() { format!("{shown}?…") } else { shown }
}

/// Somebody forgot the host behind `user:password`. What stands behind a host is a number.
fn is_password_there(place: &str) -> bool {
    let server = place.split('/').next().unwrap_or_default();
    server.rsplit_once(':').is_some_and(|(_, port)| port.chars().any(|c| !c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_secret_is_not_shown() {
        let check = |url: &str, expect: &str| assert_eq!(without_secrets(url), expect, "{url}");
        check("postgres://db.example:5432/jobs", "postgres://db.example:5432/jobs");
        check("postgres://me:hunter2@db/jobs?sslmode=verify-full", "postgres://…@db/jobs?…");
        check("mysql://me:hun@ter/2@db/jobs", "mysql://…@db/jobs");
        check("postgres://db/jobs?user=me&password=hunter2", "postgres://db/jobs?…");
        check("postgres://db/jobs?password=hunter@2", "postgres://…");
        check("postgres://me:hun?ter2@db/jobs", "postgres://…");
        check("postgres://me:hunter2/jobs", "postgres://…");
        check("me:hunter2@db/jobs", "…@db/jobs");
        check("sqlite:///srv/me@work/a?b.db", "sqlite:///srv/me@work/a?b.db");
        check("memory:", "memory:");
        check("mainspring.db", "mainspring.db");
    }
}

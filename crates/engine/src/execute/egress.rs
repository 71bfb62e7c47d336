//! The one guard in front of every outgoing request.
//!
//! Whoever can write a URL could otherwise reach what only this machine can reach: its own ports, the neighbours, the
//! cloud's metadata. So an address is public, or an operator has named it. A name is resolved once, every address that
//! it has is judged, and the connection goes to an address that was judged: there is no second look-up in which the
//! answer could differ.
//!
//! **Invariant:** no connection leaves except through [`Egress::check_url`] and [`Egress::judge_addresses`].

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use mainspring_model::Refused;
use mainspring_model::text::excerpt;

/// What an operator allows besides public addresses: a host by name, an address, or a range in CIDR notation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allowed {
    Host(String),
    Range { network: IpAddr, prefix_bits: u8 },
}

impl FromStr for Allowed {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Allowed, Refused> {
        let bad = |why: &str| {
            let detail =
                format!("`{}` {why}: write a host, an address or a range such as 10.0.0.0/8", excerpt(text, 60));
            Refused::field("allow", "NOT_A_HOST", detail)
        };
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let bare = address.strip_prefix('[').and_then(|open| open.strip_suffix(']')).unwrap_or(address);
        if let Ok(network) = bare.parse::<IpAddr>() {
            let bits = address_bits(network);
            let prefix_bits = match prefix {
                None => bits,
                Some(prefix) => prefix.parse().ok().filter(|p| *p <= bits).ok_or_else(|| bad("has a wrong prefix"))?,
            };
            return Ok(Allowed::Range { network, prefix_bits });
        }
        let is_name =
            !address.is_empty() && address.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_'));
        if prefix.is_some() || !is_name {
            return Err(bad("is not a host"));
        }
        Ok(Allowed::Host(plain_host(address)))
    }
}

fn address_bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

impl Allowed {
    fn covers(&self, address: IpAddr) -> bool {
        let Allowed::Range { network, prefix_bits } = self else { return false };
        match (network, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let shift = 32 - u32::from(*prefix_bits);
                network.to_bits().checked_shr(shift).unwrap_or(0) == address.to_bits().checked_shr(shift).unwrap_or(0)
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let shift = 128 - u32::from(*prefix_bits);
                network.to_bits().checked_shr(shift).unwrap_or(0) == address.to_bits().checked_shr(shift).unwrap_or(0)
            }
            _ => false,
        }
    }
}

/// Why a request may not leave.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Blocked(pub String);

#[derive(Debug, Clone, Default)]
pub struct Egress {
    allowed: Vec<Allowed>,
}

impl Egress {
    /// Public addresses and these.
    pub fn new(allowed: Vec<Allowed>) -> Egress {
        Egress { allowed }
    }

    fn allows_host(&self, host: &str) -> bool {
        let host = plain_host(host);
        self.allowed.iter().any(|allowed| matches!(allowed, Allowed::Host(name) if *name == host))
    }

    pub fn judge_address(&self, address: IpAddr) -> Result<(), Blocked> {
        let Some(reason) = not_public(address) else { return Ok(()) };
        // An address that carries another is judged by the one that it leads to.
        if self.allowed.iter().any(|allowed| allowed.covers(address) || allowed.covers(address.to_canonical())) {
            return Ok(());
        }
        Err(Blocked(format!("{address} is {reason}; an operator can permit it with `[http] allow`")))
    }

    /// All addresses of a name: one bad one condemns the name, because nobody says which one will be used.
    pub fn judge_addresses(&self, host: &str, addresses: &[SocketAddr]) -> Result<(), Blocked> {
        if self.allows_host(host) {
            return Ok(());
        }
        for address in addresses {
            self.judge_address(address.ip()).map_err(|blocked| Blocked(format!("{host} leads to {}", blocked.0)))?;
        }
        Ok(())
    }
}

#[cfg(feature = "http")]
impl Egress {
    /// What can be said before a name is looked up. Readers of URLs disagree about odd ones: the answer is of the
    /// same reader that opens the connection.
    pub fn check_url(&self, text: &str) -> Result<reqwest::Url, Blocked> {
        let shown = excerpt(text, 120);
        let url = reqwest::Url::parse(text).map_err(|error| Blocked(format!("`{shown}` is not a URL: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Blocked(format!("`{}` is not http or https", excerpt(url.scheme(), 40))));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Blocked("the URL holds a user or password: send them in a header".to_owned()));
        }
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| Blocked("no host".to_owned()))?;
        let bare = host.strip_prefix('[').and_then(|open| open.strip_suffix(']')).unwrap_or(host);
        // A literal address is never looked up, so it is judged here.
        if let Ok(address) = bare.parse::<IpAddr>()
            && !self.allows_host(host)
        {
            self.judge_address(address)?;
        }
        Ok(url)
    }
}

/// The look-up of the HTTP client, with the guard behind it: the client connects to what this answers.
#[cfg(feature = "http")]
impl reqwest::dns::Resolve for Egress {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let guard = self.clone();
        Box::pin(async move {
            let host = name.as_str();
            let addresses: Vec<SocketAddr> = tokio::net::lookup_host((host, 0)).await?.collect();
            guard.judge_addresses(host, &addresses)?;
            Ok(Box::new(addresses.into_iter()) as reqwest::dns::Addrs)
        })
    }
}

fn plain_host(host: &str) -> String {
    host.trim_end_matches('.').to_lowercase()
}

/// Why an address is not one of the public internet, or `None` when it is.
fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => v4_not_public(address),
        IpAddr::V6(address) => v6_not_public(address),
    }
}

fn v4_not_public(address: Ipv4Addr) -> Option<&'static str> {
    let [a, b, c, _] = address.octets();
    Some(match (a, b, c) {
        (0, ..) => "an address of this host",
        (127, ..) => "a loopback address",
        (10, ..) | (172, 16..=31, _) | (192, 168, _) => "a private address",
        (169, 254, _) => "a link-local address, where clouds keep their metadata",
        (100, 64..=127, _) => "an address behind a carrier's NAT",
        (192, 0, 0) => "an address of a protocol assignment",
        (192, 0, 2) | (198, 51, 100) | (203, 0, 113) => "an address for documentation",
        (192, 88, 99) => "a 6to4 relay",
        (198, 18..=19, _) => "an address for benchmarks",
        (224..=239, ..) => "a multicast address",
        (240..=255, ..) => "a reserved address",
        _ => return None,
    })
}

fn v6_not_public(address: Ipv6Addr) -> Option<&'static str> {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low));
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0] => return Some("the unspecified address"),
        [0, 0, 0, 0, 0, 0, 0, 1] => return Some("a loopback address"),
        // Mapped, translated and compatible IPv4; NAT64; 6to4: what they lead to counts.
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => return v4_not_public(embedded(high, low)),
        [0x2002, high, low, ..] => return v4_not_public(embedded(high, low)).or(Some("a 6to4 address")),
        [0x64, 0xff9b, 1, ..] => return Some("a local NAT64 address"),
        [0, 0, 0, 0, ..] => return Some("an IPv4-compatible address"),
        _ => {}
    }
    Some(match segments[0] {
        0xfe80..=0xfebf => "a link-local address",
        0xfec0..=0xfeff => "a site-local address",
        0xfc00..=0xfdff => "a private address",
        0xff00..=0xffff => "a multicast address",
        0x0100 => "a discard address",
        0x2001 if segments[1] < 0x0200 => "an address of a protocol assignment",
        0x2001 if segments[1] == 0x0db8 => "an address for documentation",
        0x3fff => "an address for documentation",
        0x2000..=0x3fff => return None,
        _ => "outside the public range",
    })
}

#[cfg(test)]
#[cfg(feature = "http")]
#[path = "egress_table.rs"]
mod table;

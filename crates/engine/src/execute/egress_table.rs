//! The table of URLs that look harmless, or look harmful and are not.

use super::*;

const BLOCKED: &[(&str, &str)] = &[
    ("http://127.0.0.1/", "loopback"),
    ("http://127.0.0.1:8700/api/v1/jobs", "loopback"),
    ("http://127.1/", "loopback"),
    ("http://127.255.255.254/", "loopback"),
    ("http://2130706433/", "loopback"),
    ("http://0x7f000001/", "loopback"),
    ("http://0x7f.1/", "loopback"),
    ("http://0177.0.0.1/", "loopback"),
    ("http://017700000001/", "loopback"),
    ("http://127.0.0.1./", "loopback"),
    ("http://%31%32%37.0.0.1/", "loopback"),
    ("http://127。0。0。1/", "loopback"),
    ("http://①②⑦.⓪.⓪.①/", "loopback"),
    ("http:\\\\127.0.0.1\\", "loopback"),
    ("http:127.0.0.1/", "loopback"),
    ("http:///127.0.0.1/", "loopback"),
    ("http://\t127.0.0.1/", "loopback"),
    ("http://127.0\n.0.1/", "loopback"),
    ("HTTP://127.0.0.1/", "loopback"),
    ("http://[::1]/", "loopback"),
    ("http://[0:0:0:0:0:0:0:1]:80/", "loopback"),
    ("http://[::]/", "unspecified"),
    ("http://[::ffff:127.0.0.1]/", "loopback"),
    ("http://[::ffff:7f00:1]/", "loopback"),
    ("http://[::ffff:0:127.0.0.1]/", "loopback"),
    ("http://[::127.0.0.1]/", "IPv4-compatible"),
    ("http://[64:ff9b::127.0.0.1]/", "loopback"),
    ("http://[64:ff9b::169.254.169.254]/", "metadata"),
    ("http://[64:ff9b:1::10.0.0.1]/", "NAT64"),
    ("http://[2002:7f00:1::]/", "loopback"),
    ("http://[2002:a00:1::1]/", "private"),
    ("http://[2002:0808:0808::1]/", "6to4"),
    ("http://[fe80::1]/", "link-local"),
    ("http://[fec0::1]/", "site-local"),
    ("http://[fc00::1]/", "private"),
    ("http://[fd12:3456::1]/", "private"),
    ("http://[ff02::1]/", "multicast"),
    ("http://[2001::1]/", "protocol assignment"),
    ("http://[2001:db8::1]/", "documentation"),
    ("http://[3fff::1]/", "documentation"),
    ("http://[100::1]/", "discard"),
    ("http://[4000::1]/", "outside the public range"),
    ("http://0.0.0.0/", "this host"),
    ("http://0/", "this host"),
    ("http://0.1.2.3/", "this host"),
    ("http://10.0.0.1/", "private"),
    ("http://10.255.255.255/", "private"),
    ("http://012.0.0.1/", "private"),
    ("http://172.16.0.1/", "private"),
    ("http://172.31.255.255/", "private"),
    ("http://192.168.1.1/", "private"),
    ("http://3232235777/", "private"),
    ("http://169.254.169.254/latest/meta-data/", "metadata"),
    ("http://0xa9fea9fe/", "metadata"),
    ("http://100.64.0.1/", "carrier"),
    ("http://100.127.255.255/", "carrier"),
    ("http://192.0.0.1/", "protocol assignment"),
    ("http://192.0.2.1/", "documentation"),
    ("http://192.88.99.1/", "6to4"),
    ("http://198.18.0.1/", "benchmarks"),
    ("http://224.0.0.1/", "multicast"),
    ("http://239.255.255.255/", "multicast"),
    ("http://240.0.0.1/", "reserved"),
    ("http://255.255.255.255/", "reserved"),
    ("http://example.com@127.0.0.1/", "user or password"),
    ("http://user:secret@example.com/", "user or password"),
    ("http://127.0.0.1#@example.com/", "loopback"),
    ("http://127.0.0.1?@example.com/", "loopback"),
    ("http://127.0.0.1\\@example.com/", "loopback"),
    ("file:///etc/passwd", "not http"),
    ("ftp://example.com/", "not http"),
    ("gopher://127.0.0.1:6379/_INFO", "not http"),
    ("unix:/var/run/docker.sock", "not http"),
    ("data:text/plain,x", "not http"),
    ("javascript:alert(1)", "not http"),
    ("//example.com/", "not a URL"),
    ("example.com", "not a URL"),
    ("", "not a URL"),
    ("http://", "not a URL"),
    ("http://[::1/", "not a URL"),
    ("http://[fe80::1%25eth0]/", "not a URL"),
    ("http://1.2.3.4.5/", "not a URL"),
    ("http://256.0.0.1/", "not a URL"),
    ("http://exa mple.com/", "not a URL"),
    ("http://example.com:99999/", "not a URL"),
];

const OPEN: &[&str] = &[
    "http://8.8.8.8/",
    "https://1.1.1.1/dns-query",
    "http://172.15.255.255/",
    "http://172.32.0.1/",
    "http://100.63.255.255/",
    "http://100.128.0.1/",
    "http://169.253.1.1/",
    "http://11.0.0.1/",
    "http://[2606:4700:4700::1111]/",
    "http://[::ffff:8.8.8.8]/",
    "http://[64:ff9b::8.8.8.8]/",
    // Names are judged when they are looked up.
    "https://example.com/",
    "http://127.0.0.1.example.com/",
    "http://localhost/",
];

#[test]
fn literal_addresses_are_judged_as_the_client_reads_them() {
    let guard = Egress::default();
    for (url, reason) in BLOCKED {
        match guard.check_url(url) {
            Ok(read) => panic!("{url:?} was let out as {read}"),
            Err(Blocked(said)) => assert!(said.contains(reason), "{url:?}: {said}"),
        }
    }
    for url in OPEN {
        assert!(guard.check_url(url).is_ok(), "{url}: {:?}", guard.check_url(url));
    }
    assert!(BLOCKED.len() + OPEN.len() >= 60);
}

#[test]
fn one_bad_address_condemns_a_name() {
    let guard = Egress::default();
    let check = |addresses: &[&str], open: bool| {
        let sockets: Vec<SocketAddr> = addresses.iter().map(|text| text.parse().expect("an address")).collect();
        assert_eq!(guard.judge_addresses("rebind.example", &sockets).is_ok(), open, "{addresses:?}");
    };
    check(&["8.8.8.8:0"], true);
    check(&["8.8.8.8:0", "[2606:4700:4700::1111]:0"], true);
    check(&["127.0.0.1:0"], false);
    check(&["8.8.8.8:0", "10.0.0.1:0"], false);
    check(&["8.8.8.8:0", "[::1]:0"], false);
    check(&["[::ffff:169.254.169.254]:0"], false);
}

#[test]
fn an_operator_opens_hosts_addresses_and_ranges() {
    let guard = |allow: &[&str]| Egress::new(allow.iter().map(|text| text.parse().expect("an entry")).collect());
    let check = |allow: &[&str], url: &str, open: bool| {
        assert_eq!(guard(allow).check_url(url).is_ok(), open, "{allow:?} {url}");
    };
    check(&["127.0.0.1"], "http://127.0.0.1:9000/", true);
    check(&["127.0.0.1"], "http://127.1/", true);
    check(&["127.0.0.1"], "http://127.0.0.2/", false);
    check(&["127.0.0.1"], "http://[::1]/", false);
    check(&["127.0.0.1"], "http://[::ffff:127.0.0.1]/", true);
    check(&["127.0.0.0/8", "::1"], "http://[::1]/", true);
    check(&["10.0.0.0/8"], "http://10.200.0.1/", true);
    check(&["10.0.0.0/8"], "http://11.0.0.1/", true);
    check(&["10.0.0.0/9"], "http://10.200.0.1/", false);
    check(&["fd00::/8"], "http://[fd12::1]/", true);
    check(&["fd00::/8"], "http://[fc12::1]/", false);
    check(&["0.0.0.0/0"], "http://127.0.0.1/", true);
    check(&["0.0.0.0/0"], "http://[::1]/", false);
    check(&["0.0.0.0/0"], "file:///etc/passwd", false);
    check(&["0.0.0.0/0"], "http://a@127.0.0.1/", false);
    let inside: SocketAddr = "10.0.0.1:0".parse().expect("an address");
    assert!(guard(&["build.internal"]).judge_addresses("BUILD.internal.", &[inside]).is_ok());
    assert!(guard(&["build.internal"]).judge_addresses("x.build.internal", &[inside]).is_err());
    for bad in ["", "10.0.0.0/33", "::/129", "10.0.0.0/x", "build.internal/8", "http://x", "a b", "*", "[::1"] {
        assert!(bad.parse::<Allowed>().is_err(), "{bad}");
    }
}

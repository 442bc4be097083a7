//! Each sort of address, each spelling, each grant; and names that change their mind.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Mutex;

use proptest::prelude::*;

use super::*;

/// A far end that answers as it is told, one answer after the other.
struct Answers(Mutex<Vec<Vec<IpAddr>>>);

#[async_trait]
impl Lookup for Answers {
    async fn lookup(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        let mut answers = self.0.lock().unwrap();
        match answers.len() {
            0 => Err(io::Error::other("nobody answers")),
            1 => Ok(answers[0].clone()),
            _ => Ok(answers.remove(0)),
        }
    }
}

fn guard(grants: &[&str]) -> Guard {
    Guard::parse(grants).unwrap()
}

fn answering(grants: &[&str], answers: &[&[&str]]) -> Guard {
    let ip = |text: &&str| text.parse().unwrap();
    let list = answers.iter().map(|a| a.iter().map(ip).collect());
    guard(grants).with_lookup(Arc::new(Answers(Mutex::new(list.collect()))))
}

fn place(guard: &Guard, url: &str) -> Result<Place, Refused> {
    let parsed = Url::parse(url);
    guard.place(&parsed.map_err(|_| Refused::Unreadable(url.to_owned()))?)
}

fn refused_as(url: &str) -> Option<Range> {
    match place(&guard(&[]), url) {
        Err(Refused::Range { range, .. }) => Some(range),
        Ok(_) => None,
        Err(other) => panic!("{url}: {other}"),
    }
}

#[test]
fn every_sort_of_address() {
    use Range::*;
    for (host, wanted) in [
        ("0.0.0.0", Unspecified),
        ("0.1.2.3", Unspecified),
        ("127.0.0.1", Loopback),
        ("127.255.255.254", Loopback),
        ("10.1.2.3", Private),
        ("172.16.0.1", Private),
        ("172.31.255.255", Private),
        ("192.168.1.1", Private),
        ("100.64.0.1", Shared),
        ("100.127.255.255", Shared),
        ("169.254.169.254", Metadata),
        ("100.100.100.200", Metadata),
        ("192.0.0.192", Metadata),
        ("168.63.129.16", Metadata),
        ("169.254.170.2", LinkLocal),
        ("192.0.0.8", Reserved),
        ("192.0.2.1", Documentation),
        ("198.51.100.7", Documentation),
        ("203.0.113.9", Documentation),
        ("198.18.0.1", Benchmark),
        ("198.19.255.255", Benchmark),
        ("192.88.99.1", Translated),
        ("224.0.0.1", Multicast),
        ("239.255.255.250", Multicast),
        ("240.0.0.1", Reserved),
        ("255.255.255.255", Reserved),
        ("[::]", Unspecified),
        ("[::1]", Loopback),
        ("[::ffff:127.0.0.1]", Mapped),
        ("[::ffff:8.8.8.8]", Mapped),
        ("[::ffff:a9fe:a9fe]", Mapped),
        ("[::127.0.0.1]", Mapped),
        ("[::ffff:0:10.0.0.1]", Mapped),
        ("[64:ff9b::10.0.0.1]", Translated),
        ("[64:ff9b:1::a00:1]", Translated),
        ("[2002:7f00:1::]", Translated),
        ("[2001:0:4136:e378:8000:63bf:3fff:fdd2]", Translated),
        ("[2001:db8::1]", Documentation),
        ("[3fff::1]", Documentation),
        ("[2001:2::1]", Benchmark),
        ("[2001:10::1]", Reserved),
        ("[fc00::1]", Private),
        ("[fd12:3456::1]", Private),
        ("[fd00:ec2::254]", Metadata),
        ("[fd20:ce::254]", Metadata),
        ("[fe80::1]", LinkLocal),
        ("[fec0::1]", Private),
        ("[ff02::1]", Multicast),
        ("[100::1]", Reserved),
        ("[5f00::1]", Reserved),
        ("[4000::1]", Reserved),
    ] {
        assert_eq!(
            refused_as(&format!("https://{host}/x")),
            Some(wanted),
            "{host}"
        );
    }
    for public in [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "169.253.255.255",
        "223.255.255.255",
        "[2606:4700::1111]",
        "[2a00::1]",
        "[2001:4860:4860::8888]",
    ] {
        assert_eq!(refused_as(&format!("http://{public}/")), None, "{public}");
    }
}

#[test]
fn every_spelling_of_this_machine() {
    for host in [
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0X7F.0.0.1",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "0177.0.0.0x1",
        "127.0.0.1.",
        "127。0。0。1",
        "①②⑦.⓪.⓪.①",
        "１２７.0.0.1",
        "%31%32%37.0.0.1",
        "127.0.0.%31",
        "[0:0:0:0:0:0:0:1]",
        "[::0001]",
    ] {
        assert_eq!(
            refused_as(&format!("http://{host}/")),
            Some(Range::Loopback),
            "{host}"
        );
    }
    for host in ["0", "0x0", "00", "0.0"] {
        assert_eq!(
            refused_as(&format!("http://{host}/")),
            Some(Range::Unspecified),
            "{host}"
        );
    }
    assert_eq!(refused_as("http://2852039166/"), Some(Range::Metadata));
    assert_eq!(
        refused_as("http://0xa9fea9fe/latest"),
        Some(Range::Metadata)
    );
}

#[test]
fn only_the_web_without_passwords() {
    let open = guard(&[]);
    for (url, wanted) in [
        ("ftp://example.com/", Refused::Scheme("ftp".to_owned())),
        ("file:///etc/passwd", Refused::Scheme("file".to_owned())),
        (
            "gopher://127.0.0.1:70/",
            Refused::Scheme("gopher".to_owned()),
        ),
        ("data:text/plain,x", Refused::Scheme("data".to_owned())),
        ("http://u:p@example.com/", Refused::Credentials),
        ("http://u@example.com/", Refused::Credentials),
        ("http://example.com:0/", Refused::Port),
    ] {
        assert_eq!(place(&open, url), Err(wanted), "{url}");
    }
    for url in [
        "http://",
        "http://256.256.256.256/",
        "http://[fe80::1%25eth0]/",
        "http://1.2.3.4.5/",
    ] {
        assert!(place(&open, url).is_err(), "{url}");
    }
    let place = place(&open, "https://EXAMPLE.com./a").unwrap();
    assert_eq!((place.host.as_str(), place.port), ("example.com", 443));
}

#[tokio::test]
async fn every_address_of_a_name_is_looked_at() {
    for (answer, good) in [
        (&["8.8.8.8"][..], true),
        (&["8.8.8.8", "2606:4700::1111"], true),
        (&["8.8.8.8", "127.0.0.1"], false),
        (&["10.0.0.1", "8.8.8.8"], false),
        (&["8.8.8.8", "::ffff:8.8.8.8"], false),
        (&["fd00:ec2::254"], false),
        (&[], false),
    ] {
        let guard = answering(&[], &[answer]);
        let place = place(&guard, "https://api.example.com/").unwrap();
        let found = guard.addresses(&place).await;
        assert_eq!(found.is_ok(), good, "{answer:?}: {found:?}");
    }
}

#[tokio::test]
async fn a_name_that_changes_its_mind_is_looked_at_again() {
    let guard = answering(&[], &[&["8.8.8.8"], &["169.254.169.254"]]);
    let place = place(&guard, "https://rebind.example/").unwrap();
    assert!(guard.addresses(&place).await.is_ok());
    // What connects asks once more, through the guard.
    let resolver = guard.pinned(place);
    let name = || "rebind.example".parse().unwrap();
    let second = reqwest::dns::Resolve::resolve(&resolver, name()).await;
    let error = second.err().unwrap().to_string();
    assert!(error.contains("169.254.169.254"), "{error}");
    // A client of one place does not resolve another.
    let other = reqwest::dns::Resolve::resolve(&resolver, "example.com".parse().unwrap());
    assert!(other.await.is_err());
}

#[tokio::test]
async fn grants_are_exact() {
    for (grant, url, good) in [
        ("127.0.0.1:8080", "http://127.0.0.1:8080/", true),
        ("127.0.0.1:8080", "http://0x7f.1:8080/", true),
        ("127.0.0.1:8080", "http://127.0.0.1:8081/", false),
        ("127.0.0.1:8080", "http://127.0.0.1/", false),
        ("127.0.0.1:8080", "http://127.0.0.2:8080/", false),
        ("127.0.0.1:8080", "http://[::ffff:127.0.0.1]:8080/", false),
        ("127.0.0.1:80", "http://127.0.0.1/", true),
        ("127.0.0.1", "http://127.0.0.1:9/", true),
        ("10.0.0.0/8", "https://10.255.0.1/", true),
        ("10.0.0.0/8", "https://11.0.0.1/", true),
        ("10.0.0.0/8", "https://192.168.0.1/", false),
        ("10.0.0.0/8:443", "https://10.0.0.1/", true),
        ("10.0.0.0/8:443", "http://10.0.0.1/", false),
        ("::1", "http://[::1]:5/", true),
        ("[::1]:5", "http://[::1]:6/", false),
        ("fd00::/8", "http://[fd12::1]/", true),
        ("[fd00::/8]:80", "http://[fd12::1]:81/", false),
        ("0.0.0.0/0", "http://127.0.0.1/", true),
        ("0.0.0.0/0", "http://[::1]/", false),
        ("::/0", "http://127.0.0.1/", false),
        // A translated address leads to the one inside.
        ("64:ff9b::/96", "http://[64:ff9b::8.8.8.8]/", true),
        ("64:ff9b::/96", "http://[64:ff9b::10.0.0.1]/", false),
        ("64:ff9b::a00:1", "http://[64:ff9b::10.0.0.1]/", true),
        ("::/0", "http://[::ffff:127.0.0.1]/", false),
        ("::/0", "http://[2002:7f00:1::]/", false),
        // A name is no address.
        ("localhost", "http://127.0.0.1/", false),
    ] {
        let found = place(&guard(&[grant]), url);
        assert_eq!(found.is_ok(), good, "{grant} for {url}: {found:?}");
    }
    for (grant, url, answer, good) in [
        (
            "internal.example",
            "http://internal.example/",
            "10.0.0.1",
            true,
        ),
        (
            "internal.example",
            "http://INTERNAL.example.:8/",
            "127.0.0.1",
            true,
        ),
        (
            "Internal.Example.",
            "http://internal.example/",
            "fd12::1",
            true,
        ),
        (
            "internal.example:8443",
            "https://internal.example:8443/",
            "10.0.0.1",
            true,
        ),
        (
            "internal.example:8443",
            "https://internal.example/",
            "10.0.0.1",
            false,
        ),
        (
            "internal.example",
            "http://x.internal.example/",
            "10.0.0.1",
            false,
        ),
        (
            "internal.example",
            "http://internal.example.org/",
            "10.0.0.1",
            false,
        ),
        (
            "bücher.example",
            "http://xn--bcher-kva.example/",
            "10.0.0.1",
            true,
        ),
        // Who answers for a name cannot point it at what hands out keys.
        (
            "internal.example",
            "http://internal.example/",
            "169.254.169.254",
            false,
        ),
        (
            "internal.example",
            "http://internal.example/",
            "fe80::1",
            false,
        ),
        (
            "internal.example",
            "http://internal.example/",
            "::ffff:10.0.0.1",
            false,
        ),
        ("10.0.0.0/8", "http://other.example/", "10.0.0.1", true),
        ("10.0.0.0/8", "http://other.example/", "10.0.0.1", true),
        (
            "169.254.169.254:80",
            "http://metadata.example/",
            "169.254.169.254",
            true,
        ),
    ] {
        let guard = answering(&[grant], &[&[answer]]);
        let place = place(&guard, url).unwrap();
        let found = guard.addresses(&place).await;
        assert_eq!(
            found.is_ok(),
            good,
            "{grant} for {url} at {answer}: {found:?}"
        );
    }
}

#[test]
fn what_is_no_grant() {
    for text in [
        "",
        "*",
        "*.example",
        "10.0.0.0/33",
        "10.0.0.1/8",
        "10.0.0.0/",
        "127.1",
        "0x7f000001",
        "127.0.0.1:0",
        "127.0.0.1:http",
        "127.0.0.1:70000",
        "[::1",
        "[::1]8080",
        "http://internal.example",
        "a b",
    ] {
        assert!(text.parse::<Grant>().is_err(), "{text:?}");
    }
    for text in [
        "127.0.0.1:8080",
        "10.0.0.0/8",
        "[fd00::/8]:443",
        "::1",
        "internal.example:1",
    ] {
        assert_eq!(text.parse::<Grant>().unwrap().to_string(), text);
    }
}

#[test]
fn a_refusal_says_what_and_what_to_do() {
    let refused = place(&guard(&[]), "http://0x7f.1:8080/").unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`127.0.0.1` is not reached: it is an address of this machine"
    );
    assert_eq!(
        refused.hint().unwrap(),
        "an operator can grant it in `helve.toml`: `[network]` `allow = [\"127.0.0.1:8080\"]`"
    );
}

/// Written anew, by mask, so that a slip in the patterns is seen.
fn is_public_v4(ip: u32) -> bool {
    let nets: &[(&str, u32)] = &[
        ("0.0.0.0", 8),
        ("10.0.0.0", 8),
        ("100.64.0.0", 10),
        ("127.0.0.0", 8),
        ("169.254.0.0", 16),
        ("172.16.0.0", 12),
        ("192.0.0.0", 24),
        ("192.0.2.0", 24),
        ("192.88.99.0", 24),
        ("192.168.0.0", 16),
        ("198.18.0.0", 15),
        ("198.51.100.0", 24),
        ("203.0.113.0", 24),
        ("224.0.0.0", 3),
        ("168.63.129.16", 32),
    ];
    let inside = |(net, bits): &(&str, u32)| {
        let net = u32::from(net.parse::<Ipv4Addr>().unwrap());
        (ip ^ net) >> (32 - bits) == 0
    };
    !nets.iter().any(inside)
}

proptest! {
    #[test]
    fn addresses_are_what_the_registry_says(ip: u32, near in prop::sample::select(vec![
        0x0a00_0000_u32, 0x6440_0000, 0x7f00_0000, 0xa9fe_0000, 0xac10_0000, 0xc000_0000, 0xc0a8_0000,
        0xc612_0000, 0xc633_6400, 0xcb00_7100, 0xe000_0000, 0xa83f_8110,
    ]), step in 0u32..0x30_0000) {
        for ip in [ip, near.wrapping_add(step), near.wrapping_sub(step)] {
            let public = range(IpAddr::V4(Ipv4Addr::from(ip))).is_none();
            prop_assert_eq!(public, is_public_v4(ip), "{}", Ipv4Addr::from(ip));
        }
    }

    /// Whatever way an IPv4 address is wrapped, the wrapping alone is refused.
    #[test]
    fn no_wrapped_address_is_public(ip: u32, rest: u64) {
        let [a, b, c, d] = ip.to_be_bytes();
        let high = u16::from_be_bytes([a, b]);
        let low = u16::from_be_bytes([c, d]);
        let r = |n: u32| (rest >> (16 * n)) as u16;
        for ip in [
            Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low),
            Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
            Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0x2002, high, low, r(0), r(1), r(2), r(3), 1),
            Ipv6Addr::new(0x2001, 0, r(0), r(1), r(2), r(3), !high, !low),
        ] {
            prop_assert!(range(IpAddr::V6(ip)).is_some(), "{ip}");
        }
    }

    /// Nothing outside 2000::/3 is public, and what an address is does not depend on
    /// how it is written.
    #[test]
    fn whatever_is_not_known_is_refused(ip: u128) {
        let address = Ipv6Addr::from(ip);
        if ip >> 125 != 1 {
            prop_assert!(range(IpAddr::V6(address)).is_some(), "{address}");
        }
        let url = Url::parse(&format!("http://[{address}]/")).unwrap();
        let found = guard(&[]).place(&url);
        prop_assert_eq!(found.is_ok(), range(IpAddr::V6(address)).is_none());
    }

    #[test]
    fn every_spelling_of_an_address_is_that_address(ip: u32) {
        let [a, b, c, d] = ip.to_be_bytes();
        let address = Ipv4Addr::from(ip);
        for host in [
            format!("{address}"),
            format!("{ip}"),
            format!("{ip:#x}"),
            format!("0{ip:o}"),
            format!("{a:#x}.{b}.{c}.0{d:o}"),
            format!("{a}.{}", ip & 0xff_ffff),
            format!("{a}.{b}.{}", ip & 0xffff),
            format!("{address}."),
        ] {
            let found = guard(&[]).place(&Url::parse(&format!("http://{host}/")).unwrap());
            prop_assert_eq!(found.is_ok(), is_public_v4(ip), "{}", host);
        }
    }

    #[test]
    fn no_text_breaks_a_grant(text in "\\PC{0,30}|[0-9a-f:./\\[\\]]{0,24}") {
        let _ = text.parse::<Grant>();
    }
}

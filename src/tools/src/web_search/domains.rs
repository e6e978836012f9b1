//! Which domains results may come from.

use antiphon_net::Url;

/// Domains that are included or excluded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DomainFilter {
    include: Vec<String>,
    exclude: Vec<String>,
}

impl DomainFilter {
    /// Domains with their subdomains; `*.gov` and `news.*` are patterns. Nothing included means everything.
    pub fn new(include: &[String], exclude: &[String]) -> Self {
        let clean = |domains: &[String]| {
            let domains =
                domains.iter().map(|domain| domain.trim().trim_matches('.').to_lowercase());
            domains.filter(|domain| !domain.is_empty()).collect()
        };
        Self { include: clean(include), exclude: clean(exclude) }
    }

    /// Whether results of a page may be shown.
    pub fn permits(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default().trim_end_matches('.').to_lowercase();
        let any = |domains: &[String]| domains.iter().any(|domain| matches(&host, domain));
        (self.include.is_empty() || any(&self.include)) && !any(&self.exclude)
    }
}

fn matches(host: &str, domain: &str) -> bool {
    let within = |host: &str, domain: &str| {
        host.strip_suffix(domain).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    match (domain.strip_prefix("*."), domain.strip_suffix(".*")) {
        (Some(domain), _) => host.len() > domain.len() && within(host, domain),
        // `news.*`: some label but the last is `news`.
        (None, Some(label)) => {
            let mut labels = host.split('.').rev();
            labels.next();
            labels.any(|found| found == label)
        }
        (None, None) => within(host, domain),
    }
}

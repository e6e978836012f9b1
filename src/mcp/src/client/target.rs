//! Where a server is: a process to start, or an address.

use std::collections::BTreeMap;

use antiphon_core::Fault;
use antiphon_net::{Secret, Url};
use antiphon_runtime::redact;

use super::settings::{McpSettings, invalid};

/// Words in the names of variables and headers whose values are secret.
const SECRET: [&str; 7] = ["key", "token", "secret", "password", "auth", "cookie", "credential"];

/// A server, as its settings describe it.
#[derive(Clone, Debug)]
pub(super) enum ServerTarget {
    /// A program that speaks over its standard input and output.
    Process(ProcessTarget),
    /// A server over HTTP.
    Address(AddressTarget),
}

#[derive(Clone)]
pub(super) struct ProcessTarget {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) folder: Option<String>,
}

#[derive(Clone)]
pub(super) struct AddressTarget {
    pub(super) url: Url,
    pub(super) headers: Vec<(String, Secret)>,
}

impl std::fmt::Debug for ProcessTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProcessTarget").field("program", &self.program).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for AddressTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&antiphon_net::without_secrets(&self.url))
    }
}

impl ServerTarget {
    pub(super) fn of(settings: &McpSettings) -> Result<Self, Fault> {
        let McpSettings { server, command, env, headers, folder, .. } = settings;
        match (server.trim(), command.as_slice()) {
            ("", []) => Err(invalid("`server` must be a URL or a command line, but is empty")),
            ("", command) => Self::process(command.to_vec(), settings),
            (_, [_, ..]) => Err(invalid("`server` and `command` exclude each other")),
            (address, []) if is_url(address) => {
                if !env.is_empty() || !folder.is_empty() {
                    let message = "`env` and `folder` are for servers that a command line starts";
                    return Err(invalid(message));
                }
                Ok(Self::Address(address_target(address, headers)?))
            }
            (line, []) => Self::process(split(line)?, settings),
        }
    }

    fn process(command: Vec<String>, settings: &McpSettings) -> Result<Self, Fault> {
        if !settings.headers.is_empty() {
            return Err(invalid("`headers` are for servers over HTTP")
                .hint("pass keys to a process in `env`"));
        }
        let mut words = command.into_iter();
        let program = words.next().filter(|program| !program.is_empty());
        let program = program.ok_or_else(|| invalid("the command has no program"))?;
        let arguments: Vec<_> = words.collect();
        let named = settings.env.iter().find(|(name, _)| name.is_empty() || name.contains('='));
        if let Some((name, _)) = named {
            return Err(invalid(format!("no name of a variable of the environment: {name}")));
        }
        let texts = arguments.iter().chain(settings.env.values()).chain([&program]);
        if texts.into_iter().any(|text| text.contains('\0')) {
            return Err(invalid("a command and its environment cannot hold null characters"));
        }
        for (name, value) in &settings.env {
            protect(name, value);
        }
        let folder = (!settings.folder.is_empty()).then(|| settings.folder.clone());
        let env = settings.env.clone();
        Ok(Self::Process(ProcessTarget { program, arguments, env, folder }))
    }

    /// What faults call it: nothing in it is secret.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Process(process) => process.program.clone(),
            Self::Address(address) => antiphon_net::without_secrets(&address.url),
        }
    }
}

fn is_url(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.starts_with("http://") || lower.starts_with("https://")
}

fn split(line: &str) -> Result<Vec<String>, Fault> {
    let words = shlex::split(line).filter(|words| !words.is_empty());
    words.ok_or_else(|| {
        invalid("the command line has a quotation mark that does not end, or no words")
            .hint("pass the program and its arguments as a list in `command`")
    })
}

fn address_target(
    address: &str,
    headers: &BTreeMap<String, String>,
) -> Result<AddressTarget, Fault> {
    let url = Url::parse(address).ok().filter(Url::has_host);
    // It is not quoted: it may hold a password.
    let url = url.ok_or_else(|| invalid("the address of the server is no usable URL"))?;
    for secret in url.password().into_iter().map(Into::into).chain(url.query_pairs().map(|it| it.1))
    {
        redact::register(&secret);
    }
    let headers = headers.iter().map(|(name, value)| {
        protect(name, value);
        (name.clone(), Secret::new(value.clone()))
    });
    Ok(AddressTarget { url, headers: headers.collect() })
}

/// Keeps a secret value out of everything that is shown or stored.
fn protect(name: &str, value: &str) {
    let name = name.to_ascii_lowercase();
    if !SECRET.iter().any(|word| name.contains(word)) {
        return;
    }
    redact::register(value);
    // A server that echoes the header may leave the scheme out.
    if let Some((_, token)) = value.split_once(' ') {
        redact::register(token);
    }
}

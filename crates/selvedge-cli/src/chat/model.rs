//! Which model answers: the rehearsal, or one over the network.

use std::sync::Arc;
use std::time::Duration;

use selvedge::event::FailureKind;
use selvedge::prelude::OpenAiChat;
use selvedge::providers::BuildError;
use selvedge::runtime::{ThreadConfig, ToolSet};

use crate::args::ChatArgs;
use crate::failure::{Failure, with_sources};
use crate::rehearsal::{self, Rehearsal};
use crate::tools;

/// The key's variable where OpenAI itself is asked.
const OPENAI_KEY: &str = "OPENAI_API_KEY";

const INSTRUCTIONS: &str = "You are a helpful assistant in a terminal. Answer briefly, in plain text. \
    Use the tools where they help: the current time, files below the user's working directory, questions to the user.";

/// A model, what it runs with, and what to tell the user of it.
pub(super) struct Chosen {
    /// What the thread runs with.
    pub(super) config: ThreadConfig,
    /// One line that says what answers.
    pub(super) says: String,
    /// Where the model is, for advice; `None` for the rehearsal.
    network: Option<Network>,
}

struct Network {
    url: String,
    key: Option<String>,
}

/// Finds the model that the command line asks for. `pace` is the rehearsal's pause before each word.
pub(super) fn choose(args: &ChatArgs, pace: Duration) -> Result<Chosen, Failure> {
    match args.model.as_deref().map(str::trim).filter(|model| !model.is_empty()) {
        None | Some("rehearsal") if args.base_url.is_none() => rehearsal(pace),
        None | Some("rehearsal") => Err(Failure::usage("there is a base URL, but no model to ask there")
            .advise("add --model openai:NAME, or unset SELVEDGE_BASE_URL for the rehearsal")),
        Some(model) => match model.strip_prefix("openai:").map(str::trim) {
            Some(name) if !name.is_empty() => openai(name, args),
            _ => Err(Failure::usage(format!("{model:?} is no model")).advise(
                "say --model openai:NAME, with --base-url URL for any other server than OpenAI's; or rehearsal",
            )),
        },
    }
}

fn rehearsal(pace: Duration) -> Result<Chosen, Failure> {
    let mut config = ThreadConfig::new(Arc::new(Rehearsal::new(pace)));
    config.tools = ToolSet::new(rehearsal::tools(pace)).map_err(|error| Failure::new(error.to_string()))?;
    let says = "no model is configured, so a scripted rehearsal answers (--model openai:NAME asks a real one)".into();
    Ok(Chosen { config, says, network: None })
}

fn openai(name: &str, args: &ChatArgs) -> Result<Chosen, Failure> {
    let mut builder = OpenAiChat::builder(name);
    if let Some(url) = &args.base_url {
        builder = builder.base_url(url);
    }
    // A key goes to another server than its own only if it is named.
    let key = args.key_env.clone().or_else(|| args.base_url.is_none().then(|| OPENAI_KEY.to_owned()));
    if let Some(key) = &key {
        builder = builder.key_from_env(key);
    }
    for extra in &args.extra {
        let (field, value) = extra.split_once('=').ok_or_else(|| {
            Failure::usage(format!("{extra:?} is no further field")).advise("say --extra FIELD=VALUE")
        })?;
        let value: serde_json::Value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        builder = builder.extra(field, value);
    }
    let model = builder.build().map_err(of_build)?;
    let folder = std::env::current_dir()?;
    let mut config = ThreadConfig::new(Arc::new(model));
    config.tools = ToolSet::new(tools::tools(folder)).map_err(|error| Failure::new(error.to_string()))?;
    config.system = Some(INSTRUCTIONS.into());
    let url = args.base_url.clone().unwrap_or_else(|| "OpenAI".to_owned());
    Ok(Chosen { config, says: format!("{name} at {url} answers"), network: Some(Network { url, key }) })
}

fn of_build(error: BuildError) -> Failure {
    let failure = Failure::usage(with_sources(&error));
    match error {
        BuildError::NoKey { variable } => failure.advise(format!(
            "set {variable}, or name another variable with --key-env; a server of your own, given by --base-url, needs none"
        )),
        BuildError::BaseUrl { .. } => failure.advise("say for instance --base-url http://127.0.0.1:11434/v1"),
        _ => failure,
    }
}

impl Chosen {
    /// What to do about a failed completion.
    pub(super) fn advice(&self, failure: FailureKind) -> Option<String> {
        let Network { url, key } = self.network.as_ref()?;
        match failure {
            FailureKind::Auth => Some(match key {
                Some(key) => format!("check the key in {key}, or name another variable with --key-env"),
                None => format!("{url} wants a key: name the variable that holds it with --key-env"),
            }),
            FailureKind::InvalidRequest => Some(format!(
                "check the model's name, and that the base URL, {url}, has the version at its end, as in /v1"
            )),
            FailureKind::Network => Some(format!("check that the server at {url} runs, or give another --base-url")),
            FailureKind::RateLimited | FailureKind::Overloaded | FailureKind::Server | FailureKind::Timeout => {
                Some("say something to try again; what was said is durable".into())
            }
            _ => None,
        }
    }
}

//! ModelProvider: how Selvedge asks a language model, the validator of requests, and ScriptedModel.

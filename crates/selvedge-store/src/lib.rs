//! ConversationStore: the durable home of Selvedge threads as a trait, and MemoryStore, its reference.

//! The durable reference observer: session state, pending choices and a searchable transcript.

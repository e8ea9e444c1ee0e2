//! Live fan-out for observers: every subscriber of a thread sees each event exactly once, at its own pace.

//! Two permits are spent once each.

use selvedge_barrier::DispatchPermit;

fn spend(_: DispatchPermit) {}

fn twice(permit: DispatchPermit, other: DispatchPermit) {
    spend(permit);
    spend(other);
}

fn main() {
    let _ = twice;
}

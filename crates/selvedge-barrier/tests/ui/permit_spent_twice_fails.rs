//! A permit is gone once it is spent.

use selvedge_barrier::DispatchPermit;

fn spend(_: DispatchPermit) {}

fn twice(permit: DispatchPermit) {
    spend(permit);
    spend(permit);
}

fn main() {}

//! A permit cannot be cloned.

use selvedge_barrier::DispatchPermit;

fn double(permit: DispatchPermit) -> [DispatchPermit; 2] {
    [permit.clone(), permit]
}

fn main() {}

//! What tokens cost. Money is counted in whole millionths, never in fractions.

use std::collections::HashMap;

use selvedge_event::{ModelRef, Usage};

/// What a million tokens of a model cost, in millionths of whatever the embedder counts in: 3 dollars are 3,000,000.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Price {
    /// Tokens of the request that no cache was involved in.
    pub input: u64,
    /// Tokens of the answer, reasoning included.
    pub output: u64,
    /// Tokens of the request that were read from the provider's cache.
    pub cache_read: u64,
    /// Tokens of the request that were written to the provider's cache.
    pub cache_write: u64,
}

impl Price {
    /// What tokens cost at this price, in millionths, rounded up.
    ///
    /// ```
    /// use selvedge_durable::Price;
    /// use selvedge_event::Usage;
    ///
    /// let price = Price { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 3_750_000 };
    /// let usage = Usage { input: 1_000, output: 200, cache_read: 800, ..Usage::default() };
    /// assert_eq!(price.of(&usage), 600 + 3_000 + 240);
    /// ```
    pub fn of(&self, usage: &Usage) -> u64 {
        let plain = usage.input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write);
        let parts = [
            (plain, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
        ];
        let products = parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(*price));
        let millionths = products.fold(0, u128::saturating_add);
        u64::try_from(millionths.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

/// The prices that are known. A completion is priced when its step is committed; [`rebuild`](crate::Sessions::rebuild)
/// prices everything anew.
#[derive(Debug, Clone, Default)]
pub struct Prices {
    models: HashMap<String, Price>,
}

impl Prices {
    /// No price at all.
    pub fn new() -> Self {
        Self::default()
    }

    /// The price of a model, by its name alone, or by `provider/name` where several serve it; the latter counts first.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>, price: Price) -> Self {
        self.models.insert(name.into(), price);
        self
    }

    /// The price of a model, if it is known.
    pub fn price_of(&self, model: &ModelRef) -> Option<Price> {
        let exact = self.models.get(&format!("{}/{}", model.provider, model.model));
        exact.or_else(|| self.models.get(&*model.model)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_is_rounded_up_and_nothing_overflows() {
        let price = Price { input: 1, ..Price::default() };
        assert_eq!(price.of(&Usage { input: 1, ..Usage::default() }), 1);
        assert_eq!(price.of(&Usage::default()), 0);
        let dear = Price { input: u64::MAX, output: u64::MAX, cache_read: u64::MAX, cache_write: u64::MAX };
        assert_eq!(dear.of(&Usage { input: u64::MAX, output: u64::MAX, ..Usage::default() }), u64::MAX);
    }

    #[test]
    fn a_provider_of_its_own_price_counts_first() {
        let cheap = Price { input: 1, ..Price::default() };
        let dear = Price { input: 9, ..Price::default() };
        let prices = Prices::new().model("m", cheap).model("example.org/m", dear);
        let model = |provider: &str| ModelRef { api: "a".into(), provider: provider.into(), model: "m".into() };
        assert_eq!(prices.price_of(&model("example.org")), Some(dear));
        assert_eq!(prices.price_of(&model("elsewhere")), Some(cheap));
    }
}

//! What is bought.
use std::collections::HashMap;
use std::fmt::{self, Display as Shown};

/// One line.
#[derive(Debug)]
pub struct Item {
    pub price: u32,
}

pub enum Size {
    Small,
    Large(u32),
}

pub trait Priced {
    fn price(&self, quantity: usize) -> u32;
    fn twice(&self) -> u32 {
        self.price(2)
    }
}

#[derive(Default)]
pub struct Cart<T> {
    items: HashMap<T, Item>,
}

impl<T: std::hash::Hash + Eq> Cart<T> {
    /// Starts with nothing.
    pub fn new() -> Self {
        Self { items: HashMap::new() }
    }

    #[inline(never)]
    pub fn get(&self, key: &T) -> u32 {
        self.items.get(key).expect("no such item").price
    }
}

impl Priced for Item {
    #[inline(never)]
    fn price(&self, quantity: usize) -> u32 {
        let rates = vec![1, 2];
        rates[quantity] * self.price
    }
}

impl Shown for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.price)
    }
}

#[inline(never)]
pub fn total(keys: &[String]) -> u32 {
    let cart: Cart<String> = Cart::new();
    keys.iter().map(|key| cart.get(key)).sum()
}

pub mod rates {
    pub fn parse(text: &str) -> Result<u32, std::num::ParseIntError> {
        fn inner(text: &str) -> Result<u32, std::num::ParseIntError> {
            text.trim().parse::<u32>()
        }
        inner(text)
    }
}

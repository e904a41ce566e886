//! Lists without duplicates.

/// Adds an item to a list unless the list contains it.
pub fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

/// The values, each once, in the order of their first.
pub fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    values.into_iter().fold(Vec::new(), |mut found, value| {
        push_new(&mut found, value);
        found
    })
}

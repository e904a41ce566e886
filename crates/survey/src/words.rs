//! Lists without duplicates.

/// Adds an item to a list unless the list contains it.
pub fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

//! A JSON document as a tree that borrows from its text, for readers of documents of thousands of numbers.
//!
//! [`serde_json::Value`] owns each name and has a hash table per object. The members of an object here are a list: no
//! reader looks into an object of more than some dozen by name.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde::{Deserialize, de};
use std::borrow::Cow;
use std::fmt;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tree<'text> {
    Null,
    Bool(bool),
    Whole(u64),
    Negative(i64),
    Float(f64),
    Text(Cow<'text, str>),
    List(Vec<Tree<'text>>),
    Object(Object<'text>),
}

/// The members of an object, in the order of the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Object<'text>(Vec<(Cow<'text, str>, Tree<'text>)>);

impl<'text> Tree<'text> {
    pub(crate) fn of(text: &'text str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// The member of this name, if this is an object.
    pub(crate) fn get(&self, name: &str) -> Option<&Tree<'text>> {
        self.as_object()?.get(name)
    }

    /// The same, to be changed.
    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Tree<'text>> {
        let Tree::Object(Object(members)) = self else { return None };
        members.iter_mut().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    pub(crate) const fn as_object(&self) -> Option<&Object<'text>> {
        if let Tree::Object(object) = self { Some(object) } else { None }
    }

    pub(crate) fn as_list(&self) -> Option<&[Tree<'text>]> {
        if let Tree::List(list) = self { Some(list) } else { None }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        if let Tree::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) const fn as_whole(&self) -> Option<u64> {
        if let Tree::Whole(number) = self { Some(*number) } else { None }
    }

    pub(crate) const fn as_number(&self) -> Option<f64> {
        match self {
            Tree::Whole(number) => Some(*number as f64),
            Tree::Negative(number) => Some(*number as f64),
            Tree::Float(number) => Some(*number),
            _ => None,
        }
    }
}

impl<'text> Object<'text> {
    /// The member of this name; of several, the last one.
    pub(crate) fn get(&self, name: &str) -> Option<&Tree<'text>> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Adds a member; the caller knows that there is none of this name.
    pub(crate) fn set(&mut self, name: Cow<'text, str>, value: Tree<'text>) {
        self.0.push((name, value));
    }

    /// Removes the member of this name.
    pub(crate) fn take(&mut self, name: &str) -> Option<Tree<'text>> {
        let at = self.0.iter().rposition(|(known, _)| known == name)?;
        Some(self.0.remove(at).1)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Tree<'text>)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    pub(crate) fn members_mut(&mut self) -> impl Iterator<Item = (&str, &mut Tree<'text>)> {
        self.0.iter_mut().map(|(name, value)| (&**name, value))
    }

    pub(crate) fn into_members(self) -> impl Iterator<Item = (Cow<'text, str>, Tree<'text>)> {
        self.0.into_iter()
    }
}

impl<'text> Deserialize<'text> for Tree<'text> {
    fn deserialize<From: Deserializer<'text>>(from: From) -> Result<Self, From::Error> {
        from.deserialize_any(OfTree)
    }
}

struct OfTree;

impl<'text> Visitor<'text> for OfTree {
    type Value = Tree<'text>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Tree::Null)
    }

    // As the trait has it.
    fn visit_bool<E: Error>(self, value: std::primitive::bool) -> Result<Self::Value, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Tree::Whole(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(u64::try_from(value).map_or(Tree::Negative(value), Tree::Whole))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Tree::Float(value))
    }

    fn visit_borrowed_str<E: Error>(self, value: &'text str) -> Result<Self::Value, E> {
        Ok(Tree::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Tree::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<List: SeqAccess<'text>>(self, mut from: List) -> Result<Self::Value, List::Error> {
        let mut list = Vec::new();
        while let Some(value) = from.next_element()? {
            list.push(value);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<Members: MapAccess<'text>>(self, mut from: Members) -> Result<Self::Value, Members::Error> {
        let mut members = Vec::new();
        while let Some(name) = from.next_key_seed(Name)? {
            members.push((name, from.next_value()?));
        }
        Ok(Tree::Object(Object(members)))
    }
}

/// A name that borrows, unless it has escapes.
struct Name;

impl<'text> DeserializeSeed<'text> for Name {
    type Value = Cow<'text, str>;

    fn deserialize<From: Deserializer<'text>>(self, from: From) -> Result<Self::Value, From::Error> {
        from.deserialize_str(self)
    }
}

impl<'text> Visitor<'text> for Name {
    type Value = Cow<'text, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_borrowed_str<E: de::Error>(self, value: &'text str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(value))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(value.to_owned()))
    }
}

impl Serialize for Tree<'_> {
    fn serialize<To: Serializer>(&self, to: To) -> Result<To::Ok, To::Error> {
        match self {
            Tree::Null => to.serialize_unit(),
            Tree::Bool(value) => to.serialize_bool(*value),
            Tree::Whole(value) => to.serialize_u64(*value),
            Tree::Negative(value) => to.serialize_i64(*value),
            Tree::Float(value) => to.serialize_f64(*value),
            Tree::Text(value) => to.serialize_str(value),
            Tree::List(list) => {
                let mut into = to.serialize_seq(Some(list.len()))?;
                list.iter().try_for_each(|value| into.serialize_element(value))?;
                into.end()
            }
            Tree::Object(Object(members)) => {
                let mut into = to.serialize_map(Some(members.len()))?;
                members.iter().try_for_each(|(name, value)| into.serialize_entry(name, value))?;
                into.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_what_the_text_has_and_is_written_as_it_was() {
        let text = r#"{"a":[1,-2,2.5,18446744073709551615,true,null,"b"],"c\"d":{"e\n":"f\t"},"g":{}}"#;
        let tree = Tree::of(text).unwrap();
        assert_eq!(serde_json::to_string(&tree).unwrap(), text);
        let numbers: Vec<Option<f64>> = tree.get("a").unwrap().as_list().unwrap().iter().map(Tree::as_number).collect();
        assert_eq!(numbers[..3], [Some(1.0), Some(-2.0), Some(2.5)]);
        assert_eq!((numbers[4], tree.get("a").unwrap().as_list().unwrap()[3].as_whole()), (None, Some(u64::MAX)));
        assert_eq!(tree.get("c\"d").and_then(|inner| inner.get("e\n")).and_then(Tree::as_text), Some("f\t"));
        assert!(tree.get("g").unwrap().as_object().is_some_and(|members| !members.has("a")));
    }

    #[test]
    fn of_two_members_of_one_name_the_last_one_counts() {
        let tree = Tree::of(r#"{"a":1,"b":2,"a":3}"#).unwrap();
        assert_eq!(tree.get("a").and_then(Tree::as_whole), Some(3));
    }

    #[test]
    fn a_mistake_is_found_at_its_line_and_depth_is_bounded() {
        assert_eq!(Tree::of("{\"a\": 1,\n\"b\": }").unwrap_err().line(), 2);
        assert!(Tree::of(&"[".repeat(100_000)).is_err());
        for text in ["", "{", "{\"a\"}", "[1,]", "1 2", "{1:2}", "nul", "\"\\x\""] {
            assert!(Tree::of(text).is_err(), "{text}");
        }
    }
}

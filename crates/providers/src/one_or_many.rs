//! Reads `"a"` and `["a", "b"]` alike, so that a definition with one of something needs no brackets.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};

struct OneOrMany<T>(PhantomData<T>);

pub(crate) fn one_or_many<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    deserializer.deserialize_any(OneOrMany(PhantomData))
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMany<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one or a list")
    }

    fn visit_str<E: Error>(self, one: &str) -> Result<Vec<T>, E> {
        T::deserialize(one.into_deserializer()).map(|one| vec![one])
    }

    fn visit_map<M: MapAccess<'de>>(self, one: M) -> Result<Vec<T>, M::Error> {
        T::deserialize(MapAccessDeserializer::new(one)).map(|one| vec![one])
    }

    fn visit_seq<S: SeqAccess<'de>>(self, many: S) -> Result<Vec<T>, S::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(many))
    }
}

//! The members of JSON arrays, each alone with what surrounds its array.

use hookledger_json::{Malformed, items};

/// `json` once for each member of `arrays`, which are parts of it side by side: that member stands alone in its array's place,
/// and the other arrays are empty.
pub(crate) fn one_by_one<'a>(
    json: &'a [u8],
    mut arrays: Vec<&'a str>,
) -> Result<impl Iterator<Item = Result<Vec<u8>, Malformed>>, Malformed> {
    arrays.sort_unstable_by_key(|array| array.as_ptr());
    // What stands before, between and after the arrays.
    let mut around = Vec::with_capacity(arrays.len() + 1);
    let mut from = 0;
    for array in &arrays {
        let start = (array.as_ptr() as usize).checked_sub(json.as_ptr() as usize).ok_or(Malformed)?;
        around.push(json.get(from..start).ok_or(Malformed)?);
        from = start + array.len();
    }
    around.push(json.get(from..).ok_or(Malformed)?);
    let members = arrays.into_iter().map(items).collect::<Result<Vec<_>, _>>()?;
    let members = members.into_iter().enumerate().flat_map(|(n, items)| items.into_iter().map(move |item| (n, item)));
    Ok(members.map(move |(n, member)| {
        let (before, after) = around.split_at_checked(n + 1).ok_or(Malformed)?;
        Ok([before.join(&b"[]"[..]), member_alone(member), after.join(&b"[]"[..])].concat())
    }))
}

fn member_alone(member: &str) -> Vec<u8> {
    [b"[", member.as_bytes(), b"]"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_taken_apart_with_what_surrounds_it() {
        let json = r#"{"a": [ 1 , {"b": [2]}], "c": []}"#;
        #[track_caller]
        fn check(json: &str, arrays: &[(usize, usize)], expected: &[&str]) {
            let arrays = arrays.iter().map(|(start, end)| &json[*start..*end]).collect();
            let parts = one_by_one(json.as_bytes(), arrays).unwrap().map(|part| String::from_utf8(part.unwrap()).unwrap());
            assert_eq!(parts.collect::<Vec<_>>(), expected);
        }
        check(json, &[(6, 23)], &[r#"{"a": [1], "c": []}"#, r#"{"a": [{"b": [2]}], "c": []}"#]);
        check(json, &[(30, 32)], &[]);
        check(json, &[(30, 32), (6, 23)], &[r#"{"a": [1], "c": []}"#, r#"{"a": [{"b": [2]}], "c": []}"#]);
        let json = r#"{"a":[1,2],"b":0,"c":[3]}"#;
        check(
            json,
            &[(5, 10), (21, 24)],
            &[r#"{"a":[1],"b":0,"c":[]}"#, r#"{"a":[2],"b":0,"c":[]}"#, r#"{"a":[],"b":0,"c":[3]}"#],
        );
        assert!(one_by_one(b"[1]", vec![json]).is_err(), "no array");
        assert!(one_by_one(b"[1]", vec!["[2, 3]"]).is_err(), "another text's array");
        let nested = "[1,[2]]";
        assert!(one_by_one(nested.as_bytes(), vec![nested, &nested[3..6]]).is_err(), "one array within another");
    }
}

//! fio's JSON layout: two spaces of indent, `"key" : value`, floats with six decimals.

use serde_json::Value;

/// Formats `value` as fio prints it, without a trailing newline.
pub(super) fn spelled(value: &Value) -> String {
    let mut text = String::new();
    push(&mut text, value, 0);
    text
}

fn push(text: &mut String, value: &Value, depth: usize) {
    let [open, close] = match value {
        Value::Object(_) => ['{', '}'],
        Value::Array(_) => ['[', ']'],
        Value::Number(number) if number.is_f64() => {
            return text.push_str(&format!("{:.6}", number.as_f64().unwrap_or(0.0)));
        }
        _ => return text.push_str(&value.to_string()),
    };
    text.push(open);
    let members = value.as_object().into_iter().flatten().map(|(key, value)| (Some(key), value));
    let entries = value.as_array().into_iter().flatten().map(|value| (None, value));
    for (index, (key, value)) in members.chain(entries).enumerate() {
        text.push_str(if index > 0 { ",\n" } else { "\n" });
        text.push_str(&"  ".repeat(depth + 1));
        if let Some(key) = key {
            text.push_str(&format!("{} : ", Value::from(key.as_str())));
        }
        push(text, value, depth + 1);
    }
    text.push('\n');
    text.push_str(&"  ".repeat(depth));
    text.push(close);
}

//! Arithmetic in option values, such as `(4*1k)`, or `8*2` after variables such as `$ncpus` are replaced.

/// Maximum nesting depth, so that untrusted text cannot overflow the stack.
const DEEPEST: usize = 32;

/// Evaluates an expression with `+ - * / % ^`, parentheses and units; `None` if it is not valid.
pub fn evaluate(text: &str, unit: &dyn Fn(&str) -> Option<i128>) -> Option<i128> {
    let mut reader = Reader { rest: text.trim(), unit };
    let value = reader.sum(0)?;
    reader.rest.trim().is_empty().then_some(value)
}

struct Reader<'a> {
    rest: &'a str,
    unit: &'a dyn Fn(&str) -> Option<i128>,
}

impl Reader<'_> {
    fn take(&mut self, symbol: char) -> bool {
        let rest = self.rest.trim_start();
        let found = rest.strip_prefix(symbol);
        self.rest = found.unwrap_or(rest);
        found.is_some()
    }

    fn sum(&mut self, depth: usize) -> Option<i128> {
        let mut value = self.product(depth)?;
        loop {
            if self.take('+') {
                value = value.checked_add(self.product(depth)?)?;
            } else if self.take('-') {
                value = value.checked_sub(self.product(depth)?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self, depth: usize) -> Option<i128> {
        let mut value = self.power(depth)?;
        loop {
            if self.take('*') {
                value = value.checked_mul(self.power(depth)?)?;
            } else if self.take('/') {
                value = value.checked_div(self.power(depth)?)?;
            } else if self.take('%') {
                value = value.checked_rem(self.power(depth)?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn power(&mut self, depth: usize) -> Option<i128> {
        let base = self.factor(depth)?;
        if !self.take('^') {
            return Some(base);
        }
        let exponent = self.factor(depth)?;
        base.checked_pow(u32::try_from(exponent).ok()?)
    }

    fn factor(&mut self, depth: usize) -> Option<i128> {
        if depth > DEEPEST {
            return None;
        }
        if self.take('-') {
            return self.factor(depth + 1)?.checked_neg();
        }
        if self.take('(') {
            let value = self.sum(depth + 1)?;
            return self.take(')').then_some(value);
        }
        self.number()
    }

    fn number(&mut self) -> Option<i128> {
        let hexadecimal = self.rest.strip_prefix("0x").or_else(|| self.rest.strip_prefix("0X"));
        let (digits, radix) = hexadecimal.map_or((self.rest, 10), |digits| (digits, 16));
        let end = digits.find(|letter: char| !letter.is_digit(radix)).unwrap_or(digits.len());
        let value = i128::from_str_radix(digits.get(..end)?, radix).ok()?;
        let after = &digits[end..];
        let unit_end = after.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(after.len());
        self.rest = &after[unit_end..];
        value.checked_mul((self.unit)(&after[..unit_end])?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_follow_the_usual_order() {
        let table: &[(&str, Option<i128>)] = &[
            ("8*2", Some(16)),
            ("1+2*3", Some(7)),
            ("10-4-3", Some(3)),
            ("7/2", Some(3)),
            ("2^3+1", Some(9)),
            ("-3+5", Some(2)),
            ("(1+2)*3", Some(9)),
            ("1+", None),
            ("*2", None),
            ("a", None),
            ("2^-1", None),
            ("5 5", None),
        ];
        for &(text, expected) in table {
            let plain = |unit: &str| unit.is_empty().then_some(1);
            assert_eq!(evaluate(text, &plain), expected, "{text}");
        }
    }

    #[test]
    fn deep_nesting_is_refused_and_does_not_overflow_the_stack() {
        let text = "(".repeat(100_000);
        assert_eq!(evaluate(&text, &|_| Some(1)), None);
    }
}

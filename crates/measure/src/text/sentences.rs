//! Words in sentences: counts, lists, the first letter, words for a shell; and columns.

/// A count with its noun, which is given in the singular: `1 user`, `8 users`.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", plural(count))
}

/// The letter that a noun gets if there are several of it, or none.
pub const fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// A list in a sentence: `a`, `a and b`, `a, b and c`.
pub fn listed<Word: AsRef<str>>(words: &[Word]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// The first of a list, up to `most`, and how many more there are: `a, b and 3 more`.
pub fn listed_up_to<Word: AsRef<str>>(words: &[Word], most: usize) -> String {
    match words.get(most..) {
        None | Some([]) => listed(words),
        Some(more) => {
            let shown: Vec<&str> = words[..most].iter().map(AsRef::as_ref).collect();
            format!("{} and {} more", shown.join(", "), more.len())
        }
    }
}

/// A text that begins with a capital letter.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// A word as a POSIX shell reads it back, always in quotes.
pub fn shell_quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A word as a POSIX shell reads it back, in quotes only if it needs them.
pub fn shell_word(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,+@%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { shell_quoted(word) }
}

/// Lines in columns: those of words to the left, all others, which are numbers, to the right.
pub fn aligned<const COLUMNS: usize>(lines: &[[String; COLUMNS]], words: &[usize]) -> String {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let mut text = String::new();
    for line in lines {
        let mut row = String::from(" ");
        for (column, cell) in line.iter().enumerate() {
            let pad = " ".repeat(widths[column].saturating_sub(cell.chars().count()));
            row.push_str(&if words.contains(&column) { format!(" {cell}{pad} ") } else { format!(" {pad}{cell} ") });
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_end_with_and() {
        let words = ["a", "b", "c"];
        assert_eq!([0, 1, 2, 3].map(|count| listed(&words[..count])), ["", "a", "a and b", "a, b and c"]);
        assert_eq!([1, 2, 3].map(|most| listed_up_to(&words, most)), ["a and 2 more", "a, b and 1 more", "a, b and c"]);
        assert_eq!([0, 1, 2].map(|count| counted(count, "user")), ["0 users", "1 user", "2 users"]);
        assert_eq!(["", "é", "two words"].map(capitalised), ["", "É", "Two words"]);
    }

    #[test]
    fn a_shell_reads_words_back() {
        for (word, expected) in [("a/b-c=1", "a/b-c=1"), ("", "''"), ("my disk", "'my disk'"), ("it's", r"'it'\''s'")] {
            assert_eq!(shell_word(word), expected);
        }
        assert_eq!(shell_quoted("a"), "'a'");
    }

    #[test]
    fn columns_of_words_are_to_the_left_and_of_numbers_to_the_right() {
        let lines = [["", "old"], ["IOPS", "1"]].map(|line| line.map(str::to_owned));
        assert_eq!(aligned(&lines, &[0]), "        old\n  IOPS    1\n");
    }
}

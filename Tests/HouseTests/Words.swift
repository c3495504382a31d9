/// Words of letters, digits, `-` and `.`, as ids are written.
enum Words {
    /// Those in which a digit stands and that are not long: others are no ids.
    static func all(in text: String) -> [String] {
        var words: [String] = []
        var word: [UInt8] = []
        var hasDigit = false
        for byte in Array(text.utf8) + [0x0A] {
            if byte >= 0x41 && byte <= 0x5A || byte >= 0x61 && byte <= 0x7A || byte == 0x2D || byte == 0x2E {
                word.append(byte)
            } else if byte >= 0x30 && byte <= 0x39 {
                word.append(byte)
                hasDigit = true
            } else if !word.isEmpty {
                if hasDigit && word.count < 12 {
                    // The end of a sentence is no part of its last word.
                    if word.last == 0x2E { word.removeLast() }
                    words.append(String(decoding: word, as: UTF8.self))
                }
                word.removeAll(keepingCapacity: true)
                hasDigit = false
            }
        }
        return words
    }
}

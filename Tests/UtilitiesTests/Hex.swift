/// Bytes from hexadecimal digits; spaces are ignored.
enum Hex {
    static func bytes(_ text: String) -> [UInt8] {
        let digits = text.filter { !$0.isWhitespace }
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(digits.dropFirst($0).prefix(2), radix: 16) }
    }
}

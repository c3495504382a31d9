/// Bytes as people write them: `50 54 00 0F`; of very many the first.
enum HexText {
    /// As many bytes as a line of evidence holds.
    static let limit = 128

    static func of(_ bytes: some Collection<UInt8>) -> String {
        let shown = bytes.prefix(limit).map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(
            separator: " ")
        return bytes.count > limit ? "\(shown) … (\(bytes.count) bytes)" : shown
    }
}

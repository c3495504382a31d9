import CQREncode

/// A QR code (ISO/IEC 18004) for a terminal: two modules per character.
enum QRCode {
    private static let margin = 2

    /// Returns the lines of the code; `nil` if the text is too long.
    static func lines(_ text: String) -> [String]? {
        guard let code = QRcode_encodeString(text, 0, QR_ECLEVEL_M, QR_MODE_8, 1) else { return nil }
        defer { QRcode_free(code) }
        let width = Int(code.pointee.width)
        func isDark(_ x: Int, _ y: Int) -> Bool {
            guard (0..<width).contains(x), (0..<width).contains(y) else { return false }
            return code.pointee.data[y * width + x] & 1 == 1
        }
        // On a dark terminal a full block is light, so draw the light modules.
        return stride(from: -margin, to: width + margin, by: 2).map { y in
            (-margin..<(width + margin)).map { x in
                switch (isDark(x, y), isDark(x, y + 1)) {
                case (false, false): "█"
                case (false, true): "▀"
                case (true, false): "▄"
                case (true, true): " "
                }
            }.joined()
        }
    }
}

import Bluetooth

/// Parses `bytes("10 01 00 FF FF 00 28")`.
func bytes(_ text: String) -> [UInt8] {
    text.split(whereSeparator: \.isWhitespace).map { UInt8($0, radix: 16)! }
}

func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: " ")
}

extension MonotonicInstant {
    static let start = MonotonicInstant(nanoseconds: 1_000_000_000)
    static func after(_ duration: Duration) -> MonotonicInstant { start.advanced(by: duration) }
}

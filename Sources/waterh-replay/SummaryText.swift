import Replay

enum SummaryText {
    static func basis(_ basis: AttributionBasis, isText: Bool) -> String {
        switch basis {
        case .discovered:
            isText
                ? "discovered (the text has the UUIDs)"
                : "discovered (the capture has the bottle's GATT table)"
        case .carriedOver: "carried over from another connection to the same address"
        case .given: "set by options"
        case .guessed: "guessed from the format of the values, no discovery in the capture"
        }
    }

    /// The reason for the end of a connection (HCI error codes, Core 5.4, Vol 1 Part F, 2).
    static func ending(_ reason: UInt8) -> String {
        let words =
            switch reason {
            case 0x05: "authentication failed"
            case 0x08: "the link was lost"
            case 0x13: "one side disconnected"
            case 0x14, 0x15: "one side was switched off"
            case 0x16: "the host disconnected"
            case 0x22: "a link-layer response timed out"
            case 0x28: "the instant of a link-layer procedure had passed"
            case 0x3B: "connection parameters were not acceptable"
            case 0x3D: "decryption failed"
            case 0x3E: "the connection was never established"
            default: "for another reason"
            }
        return "\(words), code 0x\(String(reason, radix: 16, uppercase: true))"
    }
}

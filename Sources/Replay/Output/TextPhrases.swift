import Captures

/// A number with its noun: `1 drink`, `2 drinks`.
package func counted(_ number: Int, _ noun: String, _ plural: String? = nil) -> String {
    "\(number) \(number == 1 ? noun : plural ?? noun + "s")"
}

/// A duration: `340 ms`, `12 s`, `5 min`, `3 h`, `40 days`.
/// - Parameter hasTenths: whether to write 1 to 10 seconds with tenths: `8.9 s`.
package func durationText(_ duration: Duration, hasTenths: Bool = false) -> String {
    let (seconds, attoseconds) = duration.components
    if seconds == 0 { return "\(attoseconds / 1_000_000_000_000_000) ms" }
    if hasTenths, seconds < 10 { return "\(seconds).\(Swift.abs(attoseconds) / 100_000_000_000_000_000) s" }
    if seconds < 120 { return "\(seconds) s" }
    if seconds < 7200 { return "\(seconds / 60) min" }
    return seconds < 172_800 ? "\(seconds / 3600) h" : "\(seconds / 86_400) days"
}

/// An offset from UTC: `+01:00`; empty for UTC.
package func zoneText(_ zone: Duration) -> String {
    let minutes = Int(zone.components.seconds) / 60, size = UInt64(minutes.magnitude)
    guard minutes != 0 else { return "" }
    return (minutes < 0 ? "-" : "+") + [size / 60, size % 60].map { TextEncoding.digits($0, 2) }.joined(separator: ":")
}

/// The reason for the end of a connection (HCI error codes, Core 5.4, Vol 1 Part F, 2).
package func disconnectReasonText(_ reason: UInt8) -> String {
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
}

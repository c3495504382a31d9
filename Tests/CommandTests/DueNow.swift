import Foundation

/// A place and time at which a reminder is due.
enum DueNow {
    /// A zone in which it is early afternoon now.
    static var zone: String {
        let lead = 14 - Int(Date().timeIntervalSince1970) / 3600 % 24
        return lead == 0 ? "UTC" : "Etc/GMT\(lead > 0 ? "-" : "+")\(lead.magnitude)"
    }
}

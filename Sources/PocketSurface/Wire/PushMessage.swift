import Store
import TrackerCore

/// A notification as the page's service worker takes it and shows it, where no page is open.
struct PushMessage: Encodable {
    struct Button: Encodable {
        var action: String
        var title: String
    }

    var title: String
    var body: String?
    /// The next of the same takes its place.
    var tag: String
    /// What a tap opens, behind the origin that the browser knows.
    var page: String
    var silent: Bool
    /// It stays until somebody has seen to it.
    var stays: Bool
    var buttons: [Button]
    /// With which the buttons act, and nothing else.
    var key: String

    /// So much of a text at most: all of a message has to fit into one record.
    private static let longest = 600

    init(_ message: PocketMessage, page: String) {
        let announcement = message.announcement
        title = String(announcement.title.prefix(Self.longest))
        body = announcement.body.isEmpty ? nil : String(announcement.body.prefix(Self.longest))
        tag = announcement.kind.id
        self.page = page
        silent = !announcement.sound
        stays = announcement.urgency == .critical
        // Opening is a tap on the notification itself, and swiping it away is dismissing it.
        buttons = announcement.kind.actions.filter { $0 != .open && $0 != .dismiss }.map {
            Button(action: $0.rawValue, title: $0.label(discreet: announcement.isDiscreet))
        }
        key = message.key
    }

    /// How soon it is to be there (RFC 8030, section 5.3): what may wait does not wake a sleeping phone.
    static func urgency(_ announcement: Announcement) -> String {
        switch announcement.urgency {
        case .low: "low"
        case .normal: "normal"
        case .critical: "high"
        }
    }
}

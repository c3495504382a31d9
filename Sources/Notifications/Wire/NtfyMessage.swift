import Foundation
import TrackerService
import Store
import TrackerCore

/// A message to ntfy (docs.ntfy.sh, "Publish as JSON", "Action buttons", "Updating and deleting notifications").
struct NtfyMessage: Encodable {
    var topic: String
    /// The id by which a later message replaces this one (ntfy 2.16 and newer). Older servers show both.
    var sequenceID: String
    var title: String?
    /// The text; never empty, because ntfy would insert a default text.
    var message: String
    var priority: Int
    var tags: [String]
    var click: String?
    var actions: [Action]?

    struct Action: Encodable {
        var action = "http"
        var label: String
        var url: String
        var method = "POST"
        var headers = ["Content-Type": "application/json"]
        var body: String
        /// Whether to remove the notification after the service accepts the press.
        var clear = true
    }

    enum CodingKeys: String, CodingKey {
        case topic, title, message, priority, tags, click, actions
        case sequenceID = "sequence_id"
    }

    init(_ message: QueuedNotification, _ target: NotificationTarget, _ topicAddress: NtfyTopic) throws {
        let announcement = message.announcement
        topic = topicAddress.topic
        sequenceID = Self.sequenceID(announcement.kind, target)
        (title, self.message) =
            announcement.body.isEmpty ? (nil, announcement.title) : (announcement.title, announcement.body)
        priority = Self.priority(announcement)
        tags = Self.tags(announcement.kind)
        click = target.page(announcement.kind.page)
        guard let url = target.page("/api/v1/press") else { return }
        // A tap opens the page, and a swipe dismisses the notification.
        let buttons = announcement.kind.actions.filter { $0 != .open && $0 != .dismiss }
        actions = try buttons.map { button in
            Action(
                label: button.label(discreet: announcement.isDiscreet), url: url,
                body: try TrackerAPI.json(["action": button.rawValue, "key": message.key]))
        }
        if actions?.isEmpty == true { actions = nil }
    }

    /// The priority: 2 low, no sound; 3 default; 4 high. 5 is for alarms.
    static func priority(_ announcement: Announcement) -> Int {
        let priority =
            switch announcement.urgency {
            case .low: 2
            case .normal: 3
            case .critical: 4
            }
        return announcement.sound ? priority : min(2, priority)
    }

    /// Tags, shown as emoji. Tags of Waterline do not reveal the subject.
    private static func tags(_ kind: NotificationKind) -> [String] {
        switch kind {
        case .pace, .interval, .adaptive: ["droplet"]
        case .goal: ["tada"]
        case .recovery: ["white_check_mark"]
        default: ["bell"]
        }
    }

    static func sequenceID(_ kind: NotificationKind, _ target: NotificationTarget) -> String {
        (target.instance.map { $0 + "-" } ?? "") + kind.id
    }
}

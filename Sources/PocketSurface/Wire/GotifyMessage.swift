import Outgoing
import Store
import TrackerCore

/// A notification as Gotify takes it (gotify.net/docs/pushmsg, /docs/msgextras). It has no buttons there.
struct GotifyMessage: Encodable {
    var title: String
    /// Gotify wants one.
    var message: String
    var priority: Int
    var extras: Extras?

    struct Extras: Encodable {
        struct Click: Encodable { var url: String }
        struct Notification: Encodable { var click: Click }
        var notification: Notification

        enum CodingKeys: String, CodingKey { case notification = "client::notification" }
    }

    init(_ message: PocketMessage, _ plan: PocketPlan) {
        let announcement = message.announcement
        title = announcement.title
        self.message = announcement.body.isEmpty ? announcement.title : announcement.body
        priority = Self.priority(announcement)
        extras = plan.page(announcement.kind.page).map { Extras(notification: .init(click: .init(url: $0))) }
    }

    /// 1 to 3: without a sound; 4 to 7: with one; 8 to 10: and it vibrates.
    static func priority(_ announcement: Announcement) -> Int {
        let priority =
            switch announcement.urgency {
            case .low: 2
            case .normal: 5
            case .critical: 8
            }
        return announcement.sound ? priority : min(2, priority)
    }
}

import Foundation
import Store
import TrackerCore

/// What a webhook can be told of a notification, by its name in templates.
enum WebhookField: String, Hashable, Sendable, CaseIterable {
    /// Always the same for the same decision.
    case id
    /// As the catalogue names it, such as `hydration-reminder`.
    case kind
    case title, body
    /// `low`, `normal` or `critical`.
    case urgency
    case sound
    /// Where its page is, or empty.
    case page
    /// As listed, or empty.
    case person
    /// When it was decided: a date, and seconds since 1970.
    case at, timestamp

    enum Value: Hashable, Encodable {
        case text(String)
        case number(Int)
        case flag(Bool)

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .number(let number): try container.encode(number)
            case .flag(let flag): try container.encode(flag)
            }
        }

        var text: String {
            switch self {
            case .text(let text): text
            case .number(let number): "\(number)"
            case .flag(let flag): "\(flag)"
            }
        }
    }

    func value(of message: PocketMessage, _ plan: PocketPlan) -> Value {
        let announcement = message.announcement
        return switch self {
        case .id: .text(announcement.id)
        case .kind: .text(announcement.kind.id)
        case .title: .text(announcement.title)
        case .body: .text(announcement.body)
        case .urgency: .text("\(announcement.urgency)")
        case .sound: .flag(announcement.sound)
        case .page: .text(plan.page(announcement.kind.page) ?? "")
        case .person: .text(plan.person ?? "")
        case .at: .text(message.since.description)
        case .timestamp: .number(Int((Double(message.since.milliseconds) / 1000).rounded(.down)))
        }
    }
}

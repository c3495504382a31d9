import Store
import TrackerCore

extension OutletTrouble: Encodable {
    /// Who is not reached, as people write it.
    package var title: String {
        switch outlet {
        case "mqtt": "MQTT"
        case "webhook": "Webhook"
        default: outlet
        }
    }

    /// Why, since when, for how long, and what waits, in sentences.
    /// - Parameter at: how an instant is shown.
    package func text(now: Instant, at: (Instant) -> String) -> String {
        var sentences = [words.hasSuffix(".") ? words : words + "."]
        if let since { sentences.append("So since \(at(since)) (\(RelativeAge.text(from: since, to: now))).") }
        if waiting > 0 {
            sentences.append(
                "\(counted(waiting, outlet == "mqtt" ? "drink" : "notification")) \(waiting == 1 ? "waits" : "wait").")
        }
        return sentences.joined(separator: " ")
    }

    private enum CodingKeys: CodingKey { case outlet, trouble, since, waiting }

    /// Instants as whole seconds since 1970, as everywhere; what nobody noted is null.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(outlet, forKey: .outlet)
        try container.encode(words, forKey: .trouble)
        try container.encode(since?.wholeSeconds, forKey: .since)
        try container.encode(waiting, forKey: .waiting)
    }
}

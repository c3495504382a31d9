import Foundation
import TrackerCore
import TrackerService

/// The response to a command, in zigbee2mqtt's form.
struct CommandAnswer: Hashable {
    /// The answer as JSON.
    var text: String

    init(_ report: some Encodable, transaction: String?, seesWaterline: Bool) throws {
        let data = try JSONSerialization.jsonObject(with: Data(TrackerDesk.json(report).utf8))
        text = Self.json(["status": "ok", "data": seesWaterline ? data : Self.redacted(data)], transaction)
    }

    init(_ error: any Error, transaction: String?) {
        let problem = error as? any Problem
        text = Self.json(
            [
                "status": "error", "data": [String: Any](), "error": problem?.sentence ?? "\(error)",
                "code": problem?.code ?? "failed",
            ], transaction)
    }

    /// The stored answer of an earlier request, without the session if Waterline is no longer shared.
    init(kept body: [UInt8], seesWaterline: Bool) {
        text = String(decoding: body, as: UTF8.self)
        guard !seesWaterline, var object = (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any],
            let data = object["data"]
        else { return }
        object["data"] = Self.redacted(data)
        text = Self.json(object, nil)
    }

    private static func redacted(_ data: Any) -> Any {
        guard var object = data as? [String: Any], var state = object["state"] as? [String: Any] else { return data }
        state["waterline"] = NSNull()
        object["state"] = state
        return object
    }

    private static func json(_ object: [String: Any], _ transaction: String?) -> String {
        var object = object
        if let transaction { object["transaction"] = transaction }
        let data = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
        return data.map { String(decoding: $0, as: UTF8.self) } ?? #"{"status":"error"}"#
    }
}

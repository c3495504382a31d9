import Foundation
import TrackerCore
import TrackerService

/// What is said at `<p>/response/NAME`, in zigbee2mqtt's manner.
struct CommandAnswer: Hashable {
    /// As JSON.
    var text: String

    /// It was done.
    init(_ report: some Encodable, transaction: String?, seesWaterline: Bool) throws {
        var data = try JSONSerialization.jsonObject(with: Data(TrackerDesk.json(report).utf8))
        if !seesWaterline, var object = data as? [String: Any] {
            // As over HTTP beyond this machine: a session is nobody's business there.
            if var state = object["state"] as? [String: Any] {
                state["waterline"] = NSNull()
                object["state"] = state
            }
            data = object
        }
        text = Self.json(["status": "ok", "data": data], transaction)
    }

    /// It was not done.
    init(_ error: any Error, transaction: String?) {
        let problem = error as? any Problem
        text = Self.json(
            [
                "status": "error", "data": [String: Any](), "error": problem?.sentence ?? "\(error)",
                "code": problem?.code ?? "failed",
            ], transaction)
    }

    private static func json(_ object: [String: Any], _ transaction: String?) -> String {
        var object = object
        if let transaction { object["transaction"] = transaction }
        let data = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
        return data.map { String(decoding: $0, as: UTF8.self) } ?? #"{"status":"error"}"#
    }

    /// As it was kept, but for the session in it, where that is nobody's business by now.
    init(kept body: [UInt8], seesWaterline: Bool) {
        text = String(decoding: body, as: UTF8.self)
        guard !seesWaterline, var object = (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any],
            var data = object["data"] as? [String: Any],
            var state = data["state"] as? [String: Any]
        else { return }
        state["waterline"] = NSNull()
        data["state"] = state
        object["data"] = data
        text = Self.json(object, nil)
    }
}

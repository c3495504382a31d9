import TrackerCore
import TrackerService

/// The response to a command, in zigbee2mqtt's form.
struct CommandAnswer: Hashable {
    /// The response as JSON.
    var text: String

    init(stored body: [UInt8]) { text = String(decoding: body, as: UTF8.self) }

    init(_ report: some Encodable, transaction: String?) throws {
        text = try TrackerAPI.json(Success(data: report, transaction: transaction))
    }

    init(error: any Error, transaction: String?) {
        let problem = error as? any Problem
        let failure = Failure(
            code: problem?.code ?? "failed", error: problem?.sentence ?? "\(error)", transaction: transaction)
        text = (try? TrackerAPI.json(failure)) ?? #"{"status":"error"}"#
    }

    private struct Success<Report: Encodable>: Encodable {
        var status = "ok"
        var data: Report
        var transaction: String?
    }

    private struct Failure: Encodable {
        var status = "error"
        var data: [String: String] = [:]
        var code: String
        var error: String
        var transaction: String?
    }
}

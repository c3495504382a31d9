import TrackerCore
import TrackerService

/// The JSON of the response to a command, in zigbee2mqtt's form.
enum CommandAnswer {
    static func success(_ report: some Encodable, transaction: String?) throws -> String {
        try TrackerAPI.json(Success(data: report, transaction: transaction))
    }

    static func failure(_ error: any Error, transaction: String?) -> String {
        let problem = error as? any Problem
        let failure = Failure(
            code: problem?.code ?? "failed", error: problem?.sentence ?? "\(error)", transaction: transaction)
        return (try? TrackerAPI.json(failure)) ?? #"{"status":"error"}"#
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

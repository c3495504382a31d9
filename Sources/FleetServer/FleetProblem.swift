import FleetStore
import FleetWire
import Foundation
import HTTPTypes
import Hummingbird

/// What went wrong, as it goes over the wire: problem details (RFC 9457).
struct FleetProblem: Error {
    var status: HTTPResponse.Status
    var detail: String
    var headers: HTTPFields = [:]

    init(_ status: HTTPResponse.Status, _ detail: String, headers: HTTPFields = [:]) { (self.status, self.detail, self.headers) = (status, detail, headers) }

    /// - Parameter seconds: when to come again.
    static func later(_ status: HTTPResponse.Status, _ detail: String, seconds: Int) -> FleetProblem { FleetProblem(status, detail, headers: [.retryAfter: "\(seconds)"]) }

    init(explaining error: any Error) {
        switch error {
        case let problem as FleetProblem: self = problem
        case is FleetPool.Busy: self = .later(.tooManyRequests, "So many batches are being stored that this one has to wait. Send it again in a second.", seconds: 1)
        case is FleetBatch.Revoked: self.init(.forbidden, "This credential was taken back. Nothing of the batch was stored.")
        case let refusal as FleetBatch.NotAllowed: self.init(.forbidden, "\(refusal)")
        case let newer as FleetEntry.Newer: self.init(.badRequest, "\(newer)")
        case let many as FleetLines.TooMany: self.init(.contentTooLarge, "\(many)")
        case let failure as FleetFailure: self = .later(.serviceUnavailable, failure.sentence, seconds: 5)
        case let error as HTTPError where error.status == .contentTooLarge:
            self.init(.contentTooLarge, "A batch has at most \(FleetLines.byteLimit >> 20) MiB. Send less at once.")
        case let error as HTTPError: self.init(error.status, error.body ?? error.status.reasonPhrase)
        default: self.init(.internalServerError, "It failed: \(error)")
        }
    }

    private struct Body: Encodable {
        var type = "about:blank"
        var title: String
        var status: Int
        var detail: String
    }

    var response: Response {
        let bytes = (try? JSONEncoder().encode(Body(title: status.reasonPhrase, status: status.code, detail: detail))) ?? Data()
        var fields = headers
        fields[.contentType] = "application/problem+json"
        return Response(status: status, headers: fields, body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

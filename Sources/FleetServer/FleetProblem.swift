import FleetStore
import FleetWire
import Foundation
import HTTPTypes
import Hummingbird
import Packing

/// What went wrong, as it goes over the wire: problem details (RFC 9457).
struct FleetProblem: Error {
    var status: HTTPResponse.Status
    /// Stable, for programs: what kind of trouble it is, in lowerCamelCase.
    var code: String
    /// One plain sentence for people.
    var detail: String
    var headers: HTTPFields = [:]
    /// Where a store tells on that was put back from a backup.
    var ahead: FleetStanding.Ahead?

    init(_ status: HTTPResponse.Status, _ code: String, _ detail: String, headers: HTTPFields = [:]) {
        (self.status, self.code, self.detail, self.headers) = (status, code, detail, headers)
    }

    static let missing = FleetProblem(.notFound, "notFound", "There is nobody of that name here.")

    /// - Parameter seconds: when to come again.
    static func later(_ status: HTTPResponse.Status, _ code: String, _ detail: String, seconds: Int) -> FleetProblem {
        FleetProblem(status, code, detail, headers: [.retryAfter: "\(seconds)"])
    }

    init(explaining error: any Error) {
        switch error {
        case let problem as FleetProblem: self = problem
        case let repeats as FleetBatch.Repeats:
            self.init(
                .conflict, "placesRepeat",
                """
                More was told of this store than it knows of: it was put back from a backup. Nothing of the batch \
                was stored; it tells on in generation \(repeats.ahead.generation).
                """
            )
            ahead = repeats.ahead
        case let packing as Gzip.Failure where packing == .tooLong(FleetLines.byteLimit):
            self.init(
                .contentTooLarge, "tooLarge",
                "A batch has at most \(FleetLines.byteLimit >> 20) MiB unpacked. Send less at once.")
        case Gzip.Failure.libraryMissing:
            self.init(
                .unsupportedMediaType, "packed", "\(error). Send the batch as it is.",
                headers: [.acceptEncoding: "identity"])
        case let packing as Gzip.Failure:
            self.init(.badRequest, "brokenGzip", "\(packing). Nothing of the batch was stored.")
        case is FleetFeed.Full:
            self = .later(
                .serviceUnavailable, "tooManyWatch",
                "As many watch this server as may (\(FleetFeed.limit)). Come again later, or look at another.",
                seconds: 60)
        case is FleetPool.Busy:
            self = .later(
                .tooManyRequests, "busy",
                "So many batches are being stored that this one has to wait. Send it again in a second.", seconds: 1)
        case is FleetBatch.Revoked:
            self.init(
                .forbidden, "credentialRevoked", "This credential was taken back. Nothing of the batch was stored.")
        case let refusal as FleetBatch.NotAllowed: self.init(.forbidden, "otherPerson", "\(refusal)")
        case let newer as FleetEntry.Newer: self.init(.badRequest, "newerVersion", "\(newer)")
        case let none as FleetLines.NoDoubt: self.init(.badRequest, "noDoubt", "\(none)")
        case let many as FleetLines.TooMany: self.init(.contentTooLarge, "tooManyEntries", "\(many)")
        case let failure as FleetFailure:
            self = .later(.serviceUnavailable, Self.code(failure.kind), failure.sentence, seconds: 5)
        case let error as HTTPError where error.status == .contentTooLarge:
            self.init(
                .contentTooLarge, "tooLarge",
                "A batch has at most \(FleetLines.byteLimit >> 20) MiB. Send less at once.")
        case let error as HTTPError:
            self.init(
                error.status, error.status == .notFound ? "notFound" : "refused",
                error.body ?? error.status.reasonPhrase)
        default: self.init(.internalServerError, "failed", "It failed: \(error)")
        }
    }

    /// `databaseReadOnly`: so nobody takes the database's trouble for their own.
    private static func code(_ kind: FleetFailure.Kind) -> String {
        "database" + kind.rawValue.prefix(1).uppercased() + kind.rawValue.dropFirst()
    }

    private struct Body: Encodable {
        var type = "about:blank"
        var title: String
        var status: Int
        var detail: String
        var code: String
        var generation: Int?
        var keys: [String]?
    }

    var response: Response {
        let bytes =
            (try? JSONEncoder().encode(
                Body(
                    title: status.reasonPhrase, status: status.code, detail: detail, code: code,
                    generation: ahead?.generation, keys: ahead?.keys))) ?? Data()
        var fields = headers
        fields[.contentType] = "application/problem+json"
        return Response(status: status, headers: fields, body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import TrackerCore
import TrackerService

/// An error as problem details (RFC 9457), `application/problem+json`.
struct HTTPProblem: Error, Sendable {
    var status: HTTPResponse.Status
    /// A stable name of the error for programs.
    var code: String
    /// A sentence for the user.
    var detail: String
    var headers: HTTPFields = [:]

    init(_ status: HTTPResponse.Status, _ code: String, _ detail: String, headers: HTTPFields = [:]) {
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = headers
    }

    private struct Body: Encodable {
        var type = "about:blank"
        var title: String
        var status: Int
        var detail: String
        var code: String
    }

    var response: Response {
        let body = ByteBuffer.json(Body(title: status.reasonPhrase, status: status.code, detail: detail, code: code))
        var fields = headers
        fields[.contentType] = "application/problem+json"
        return Response(status: status, headers: fields, body: ResponseBody(byteBuffer: body))
    }
}

extension HTTPProblem {
    static func notFound(_ detail: String) -> HTTPProblem { HTTPProblem(.notFound, "notFound", detail) }
}

extension Fields {
    /// - Throws: an error with status 400 for a body that is not JSON, else with 422.
    init(_ body: ByteBuffer) throws {
        guard body.readableBytes > 0 else {
            self.init()
            return
        }
        do {
            try self.init(json: Data(body.readableBytesView), of: "body")
        } catch let error as WrongInput where ["notText", "notJSON"].contains(error.code) {
            throw HTTPProblem(.badRequest, "unreadable", error.sentence)
        }
    }
}

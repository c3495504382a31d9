import HTTPTypes
import Hummingbird
import NIOCore
import TrackerService

/// The JSON response to a write, which can be stored for a repetition of the request.
struct APIResponse: Sendable {
    var status: HTTPResponse.Status
    var bytes: ByteBuffer
    var headers: HTTPFields = [:]

    static func json(_ report: some Encodable, status: HTTPResponse.Status = .ok) -> APIResponse {
        APIResponse(status: status, bytes: .json(report))
    }

    var response: Response {
        var fields = headers
        fields[.contentType] = "application/json"
        return Response(status: status, headers: fields, body: ResponseBody(byteBuffer: bytes))
    }
}

extension Response {
    static func json(_ report: some Encodable) -> Response { APIResponse.json(report).response }
}

extension ByteBuffer {
    /// The JSON of a response or an event.
    static func json(_ value: some Encodable) -> ByteBuffer {
        // Reports contain no value that JSON cannot represent.
        ByteBuffer(string: (try? TrackerAPI.json(value)) ?? "null")
    }
}

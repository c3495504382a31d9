import HTTPTypes
import Hummingbird

struct APIResponse: Sendable {
    var status: HTTPResponse.Status
    /// The media type of the body; empty without a body.
    var type: String
    var bytes: ByteBuffer
    var headers: HTTPFields

    init(status: HTTPResponse.Status = .ok, type: String, bytes: ByteBuffer, headers: HTTPFields = [:]) {
        self.status = status
        self.type = type
        self.bytes = bytes
        self.headers = headers
    }

    static func json(_ report: some Encodable, status: HTTPResponse.Status = .ok) -> APIResponse {
        APIResponse(status: status, type: "application/json", bytes: JSONBody.encode(report))
    }

    var response: Response {
        var fields = headers
        if !type.isEmpty { fields[.contentType] = type }
        return Response(status: status, headers: fields, body: ResponseBody(byteBuffer: bytes))
    }
}

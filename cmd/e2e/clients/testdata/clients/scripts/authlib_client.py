"""Signs a person in with authlib: a public client that registers itself."""

import http.server
import json
import sys
import threading
import urllib.parse

import requests
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session
from authlib.jose import JsonWebKey, JsonWebToken
from authlib.oidc.core import CodeIDToken, UserInfo

settings = json.loads(sys.argv[1])
answers = []
answered = threading.Event()


class Callback(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"Close this page.")
        if self.path.startswith("/callback?"):
            answers.append(self.path)
            answered.set()

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Callback)
threading.Thread(target=server.serve_forever, daemon=True).start()
redirect_uri = f"http://127.0.0.1:{server.server_port}/callback"

metadata = requests.get(settings["issuer"] + "/.well-known/openid-configuration", timeout=60).json()
registered = requests.post(
    metadata["registration_endpoint"], timeout=60,
    json={"client_name": "authlib", "redirect_uris": [redirect_uri], "token_endpoint_auth_method": "none"},
)
registered.raise_for_status()
session = OAuth2Session(
    registered.json()["client_id"], redirect_uri=redirect_uri, scope="openid org:read", code_challenge_method="S256",
    token_endpoint_auth_method="none", token_endpoint=metadata["token_endpoint"],
)
verifier, nonce = generate_token(48), generate_token(20)
address, state = session.create_authorization_url(metadata["authorization_endpoint"], code_verifier=verifier, nonce=nonce)
print(json.dumps({"open": address}), flush=True)
if not answered.wait(timeout=300):
    sys.exit("no answer")
token = session.fetch_token(
    metadata["token_endpoint"], authorization_response=urllib.parse.urljoin(redirect_uri, answers[0]), state=state, code_verifier=verifier,
)
keys = JsonWebKey.import_key_set(requests.get(metadata["jwks_uri"], timeout=60).json())
claims = JsonWebToken(metadata["id_token_signing_alg_values_supported"]).decode(
    token["id_token"], keys, claims_cls=CodeIDToken,
    claims_options={"iss": {"essential": True, "value": metadata["issuer"]}, "aud": {"essential": True, "value": session.client_id}},
    claims_params={"nonce": nonce, "client_id": session.client_id, "access_token": token["access_token"]},
)
claims.validate()
person = UserInfo(session.get(metadata["userinfo_endpoint"]).json())
first = token["access_token"]
token = session.refresh_token(metadata["token_endpoint"], refresh_token=token["refresh_token"])
if first == token["access_token"]:
    sys.exit("the tokens were not refreshed")
me = session.get(settings["issuer"] + "/v1/me")
session.revoke_token(metadata["revocation_endpoint"], token=token["refresh_token"], token_type_hint="refresh_token")
print(json.dumps({"done": {
    "claims": dict(claims), "person": dict(person), "scope": token["scope"], "me": {"status": me.status_code, "body": me.json()},
    "revoked": session.get(settings["issuer"] + "/v1/me").status_code,
}}), flush=True)

// Starts Swagger UI on the API's own description; a token typed here stays in this page.
const place = document.getElementById("api");
window.SwaggerUIBundle({
  domNode: place,
  url: place.dataset.schema,
  presets: [window.SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  docExpansion: "list",
  persistAuthorization: false,
  validatorUrl: null,
});
